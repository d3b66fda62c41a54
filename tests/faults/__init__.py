"""Baton with its processes dying, its replies lost and its writers racing: nothing promised may break.

`seam` is where a container's calls are watched; `crash` kills it there, `interleaving` makes several take
turns; `invariants` reads the tables themselves afterwards. `scenarios` holds what is done to a run, by room.
"""
