"""Settings of gunicorn for the bench `release`: each worker gets a number."""

import os

accesslog = None
loglevel = "warning"
backlog = 512
timeout = 60
control_socket_disable = True


def post_fork(server, worker):
    """Sets the worker's number in its environment."""
    os.environ["RELEASE_WORKER"] = str(worker.age)
