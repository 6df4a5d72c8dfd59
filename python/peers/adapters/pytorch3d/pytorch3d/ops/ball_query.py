"""pytorch3d.ops.ball_query is kith.torch's."""
from kith.torch import ball_query  # noqa: F401
