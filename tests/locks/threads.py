"""Threads that exchange items through queues."""

import queue
import threading

todo, done = queue.Queue(maxsize=2), queue.Queue()


def work():
    while (item := todo.get()) is not None:
        done.put(item * item)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(500):
    todo.put(number)
for _ in threads:
    todo.put(None)
for thread in threads:
    thread.join()
print(sum(done.get() for _ in range(500)))
