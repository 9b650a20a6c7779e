"""What goes wrong and what to do about it, in one line each."""
OLDEST = (2, 4)


class CaptureError(Exception):
    """A step that can't be captured, with the way out in its message."""


def check_version():
    """Raises CaptureError unless a PyTorch is installed that the package works with."""
    try:
        import torch
    except ImportError:
        raise CaptureError("PyTorch is missing: pip install torch") from None
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        raise CaptureError(f"PyTorch {torch.__version__} is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed "
                           "(pip install --upgrade torch)")


def check_since(oldest, what):
    """Raises CaptureError where PyTorch has not yet what is asked for. oldest: (2, 5)."""
    import torch
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < oldest:
        raise CaptureError(f"{what}: PyTorch {torch.__version__} can't, {oldest[0]}.{oldest[1]} or later can (pip install --upgrade torch)")


def misfit_of(error):
    """What to do where torchvision was built for another PyTorch than the one installed; None for other errors. Packages
    that import torchvision hide that error behind their own."""
    while error is not None:
        if "torchvision::" in str(error) and "does not exist" in str(error):
            return "torchvision was built for another PyTorch: install both in one command, from one index (a CPU build has its own)"
        error = error.__cause__ or error.__context__
    return None


def explain(error):
    """An exception of a user's step as one line: what happened and the way out."""
    import torch
    from torch._subclasses import fake_tensor
    said = " ".join(str(error).split())[:300]
    if isinstance(error, CaptureError):
        return said
    misfit = misfit_of(error)
    if misfit:
        return misfit
    if isinstance(error, fake_tensor.UnsupportedOperatorException):
        return f"{error.func} has no shape function: register one (torch.library.register_fake), or capture with real=True"
    if type(error).__name__ == "NoNumber":
        return said
    if isinstance(error, (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)):
        return f"{error.func} depends on data, which fake tensors don't have: capture with real=True"
    if isinstance(error, NotImplementedError) and "SparseTensorImpl" in said:
        return "a sparse tensor takes part: only dense ones can be captured (an embedding's sparse=False)"
    if "shape_env must not be None" in said:
        return "a nested tensor takes part, whose lengths fake tensors don't have: capture with real=True, or pad it"
    if "is_inference()" in said and "INTERNAL ASSERT" in said:
        return "the step takes forward-mode derivatives (jvp, make_dual) of real tensors: make the model and its inputs under tidemark_torch.fake(), or capture with real=True"
    if "Mixing fake modes" in said:
        return "the model was made under another FakeTensorMode: make it outside, or under tidemark_torch.fake()"
    if isinstance(error, RuntimeError) and ("data pointer" in said.lower() or ".numpy() is not supported" in said):
        return "the step reads a tensor's memory (numpy, data_ptr), which fake tensors don't have: capture with real=True"
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return "the GPU's memory is full: capture on fake tensors (without real=True)"
    return f"{type(error).__name__}: {said}"
