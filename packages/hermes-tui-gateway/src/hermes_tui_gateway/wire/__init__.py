"""The wire, one struct for the params and one for the result of each method, and one for each event's payload.

A field that may be missing from a result or an event is `UNSET`, never null, unless null has a meaning of its
own. Params that are not known are ignored; known ones are strictly typed.
"""
