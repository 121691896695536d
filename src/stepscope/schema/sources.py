"""How a recording knows a source file again."""

from hashlib import blake2b


def source_hash(content: bytes) -> str:
    """Hash of a file's content, as the stat ``names.SOURCE_HASHES`` has it."""
    return blake2b(content, digest_size=16).hexdigest()
