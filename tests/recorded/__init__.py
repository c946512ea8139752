"""Answers of every public solver, recorded: whoever rearranges the code can show that no answer has changed.

`rooms` has the calls and `answers` what each of them gave, both by room. `tests/test_recorded.py` makes the
calls again and compares. A call uses public names only. When one is renamed, the call follows and the answers stay;
`readers` is where the fields of results are spelled, each once.

    python -m tests.recorded --check                    # make all calls and compare
    python -m tests.recorded --check --room limb        # those of some rooms
    python -m tests.recorded --call limb.search         # record a call that is new, or whose answer was meant to change
    python -m tests.recorded --call limb.search --fields '*.status'    # only some of its fields
    python -m tests.recorded                            # record everything anew

On the machine, and with the libraries, that the answers were recorded with, they agree to the last bit. Elsewhere
another processor or another libm rounds differently, and they agree closely (`compare`).
"""
