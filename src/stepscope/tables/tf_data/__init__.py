"""tf.data pipelines: the calls of their iterators, and which iterator each call waited for."""
