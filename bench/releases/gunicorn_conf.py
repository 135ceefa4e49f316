"""gunicorn's settings for the bench of releases: each worker learns its number."""

import os

accesslog = None
loglevel = "warning"
backlog = 512
timeout = 60
control_socket_disable = True


def post_fork(server, worker):
    """Called in each new worker."""
    os.environ["RELEASE_WORKER"] = str(worker.age)
