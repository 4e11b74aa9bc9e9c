"""The exact ranking engine: scorers, the streaming pass, tie rules, retrieved lists."""
