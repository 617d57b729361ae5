lifetimes-summary IN OUT
