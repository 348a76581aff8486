"""vLLM's FlashAttention is imported without vLLM; tested with packages that have the layout of vLLM."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from voxcli.kernels import vllm_library
from voxcli.kernels.vllm_library import PACKAGE, load_flash_attention

BOTH = """
from . import extension
FA2_AVAILABLE, FA3_AVAILABLE = True, {fa3}
FA3_UNAVAILABLE_REASON = None if FA3_AVAILABLE else "undefined symbol:\\n _ZN3c10"
flash_attn_varlen_func = get_scheduler_metadata = extension.function
"""


@pytest.fixture
def vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package `vllm` that can't be imported itself."""
    folder = tmp_path / "vllm"
    kernels = folder / "vllm_flash_attn"
    kernels.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('all of vLLM was imported')")
    (kernels / "__init__.py").write_text("")
    (kernels / "extension.py").write_text("def function(): return 'called'")
    (kernels / "flash_attn_interface.py").write_text(BOTH.format(fa3=True))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] in ("vllm", PACKAGE)]:
        del sys.modules[name]


@pytest.mark.parametrize(("capability", "version"), [((9, 0), 3), ((8, 6), 2), ((10, 0), 2), ((12, 0), 2)])
def test_only_the_kernels_are_imported(
    vllm: Path, monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], version: int
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    module, found = load_flash_attention()
    assert (module.flash_attn_varlen_func(), found) == ("called", version)
    assert "vllm" not in sys.modules


def test_an_old_gpu_is_not_supported(vllm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 5))
    with pytest.raises(ImportError, match=r"FlashAttention 3 does not support compute capability 7\.x; .* 2 does not"):
        load_flash_attention()


def test_the_reason_for_a_missing_kernel_is_one_line(vllm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (vllm / "vllm_flash_attn" / "flash_attn_interface.py").write_text(BOTH.format(fa3=False).replace("True", "False"))
    with pytest.raises(ImportError) as caught:
        load_flash_attention()
    assert str(caught.value) == "FlashAttention 3: undefined symbol: _ZN3c10; FlashAttention 2: not built"


def test_with_another_layout_vllm_is_imported(vllm: Path) -> None:
    (vllm / "__init__.py").write_text("")
    (vllm / "vllm_flash_attn" / "flash_attn_interface.py").write_text(
        "import vllm.settings\nfrom . import extension\nassert __name__.startswith('vllm.')\n"
        "FA2_AVAILABLE = True\nflash_attn_varlen_func = extension.function\n"
    )
    (vllm / "settings.py").write_text("")
    module, version = load_flash_attention()
    assert (module.__name__, version) == ("vllm.vllm_flash_attn.flash_attn_interface", 2)
    assert not [name for name in sys.modules if name.startswith(PACKAGE)]


def test_a_vllm_that_has_been_imported_is_used(vllm: Path) -> None:
    (vllm / "__init__.py").write_text("")
    __import__("vllm")
    assert load_flash_attention()[0].__name__ == "vllm.vllm_flash_attn.flash_attn_interface"


def test_a_broken_vllm_is_an_import_error(vllm: Path) -> None:
    (vllm / "vllm_flash_attn" / "flash_attn_interface.py").unlink()
    with pytest.raises(ImportError, match="RuntimeError: all of vLLM was imported"):
        load_flash_attention()


def test_without_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_library.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "vllm", None)  # as Python does for a module that can't be imported
    with pytest.raises(ImportError, match="vllm"):
        load_flash_attention()
