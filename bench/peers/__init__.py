"""The memories that are compared: one file each, with nothing but its calls as its own documentation shows them.

`peering.Memory` says what each call must do. No file here tunes anything: corrections by a peer's makers are welcome.
"""
