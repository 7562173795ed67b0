"""What do I show to somebody who must know which labels not to trust? One page, by itself."""
