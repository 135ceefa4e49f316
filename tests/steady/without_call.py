"""Makes one system call fail with EPERM, as in a sandbox, and executes a program.

    without_call.py NUMBER_ON_X86_64 NUMBER_ON_AARCH64 PROGRAM ...
"""
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = int({"x86_64": sys.argv[1], "aarch64": sys.argv[2]}[os.uname().machine])
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
buffer = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(buffer)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[3], sys.argv[3:])
