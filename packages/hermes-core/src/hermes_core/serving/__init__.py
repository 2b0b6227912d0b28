"""What a surface needs to serve HTTP and WebSockets itself (extra `hermes-core[serving]`)."""
