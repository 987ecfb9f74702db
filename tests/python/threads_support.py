"""Functions that run in threads at the same time."""

import threading

from deadlines import WAIT_S


def in_threads(*functions):
    """Return the result of each, run in a thread; raise the first error."""
    results = [None] * len(functions)
    errors = []

    def run(k):
        try:
            results[k] = functions[k]()
        except BaseException as error:  # noqa: BLE001 (handed on)
            errors.append(error)

    threads = [
        threading.Thread(target=run, args=(k,), daemon=True)
        for k in range(len(functions))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive(), "hangs"
    if errors:
        raise errors[0]
    return results
