import logging

logger = logging.getLogger("gpt_small")


def watch(model, kinds):
    """Log what comes out of each layer; for finding NaNs."""
    handles = []

    def listen(name):
        def report_activation(module, inputs, output):
            logger.debug(f"{name}: in={inputs[0][0]} out={output[0]}")

        return report_activation

    for name, module in model.named_modules():
        if isinstance(module, kinds):
            handles.append(module.register_forward_hook(listen(name)))
    return handles
