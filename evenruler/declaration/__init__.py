"""What `params.yaml`, `active.yaml` and the sources declare: read, validated, and as digests that
stages depend on.
"""
