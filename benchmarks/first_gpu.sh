#!/usr/bin/env bash
# What to run on a kind of GPU that is new, in the root of a checkout: bash benchmarks/first_gpu.sh 2>&1 | tee first_gpu.log
# Every command says what it should print; go on after one that fails. What it printed on an H200: benchmarks/h200.txt.
# Needs the extras gpu, text, clip, wmd and dask, the groups of the tests, and VSEBENCH_TEST_DATA for the last part. Some 20 minutes.
set -u
python=${PYTHON:-python}
work=$(mktemp -d)

step() { printf '\n== %s\n   expected: %s\n' "$1" "$2"; }

step "The GPU, its driver, and how vsebench finds it" \
  "the name of the GPU; one of the two paths at least"
nvidia-smi -L
ls /proc/driver/nvidia/version /dev/nvidiactl

step "The back-end of auto" \
  "True, then torch:cuda:0 (torch finds a GPU)"
"$python" -c "from vsebench import environment as e; from vsebench.rank import backends as b; print(e.has_driver(), *b.chosen('auto'))"

step "The installation" \
  "torch and faiss with the GPU (faiss: GPU 0 of 1), back-end torch:cuda:0; no fault"
vsebench doctor

step "Compute capability, and which ones torch has code for" \
  "the first (sm_90 for H100 and H200) is among the others, or below one of the same major number"
"$python" -c "import torch; print('sm_%d%d' % torch.cuda.get_device_capability(), torch.cuda.get_arch_list())"

step "An index of FAISS on the GPU, in this process" \
  "[[0 ...] [1 ...]]: every vector finds itself first"
"$python" -c "import faiss, numpy as np
x = np.eye(64, dtype='f4'); i = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), 64); i.add(x)
print(i.search(x, 5)[1][:2])"

step "Why FAISS does not use the GPU" \
  "None"
"$python" -c "from vsebench.rank import faiss_index as f; print(f.fault(0))"

step "Precision: what the products lack" \
  "None, then 'unset NAME' for the three variables of cuBLAS, and None for that of torch"
for e in NOTHING=1 NVIDIA_TF32_OVERRIDE=1 CUBLAS_EMULATE_SINGLE_PRECISION=1 CUBLAS_EMULATE_DOUBLE_PRECISION=1 \
  TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1; do
  env "$e" "$python" -c "from vsebench.rank.torch_backend import settings as s; print('$e', s.fault(s.device_of('cuda')))"
done

step "The same without the refusal: is the lowered precision found by what is multiplied?" \
  "products of float32 have ... times the error that they can have (TF32); emulated products None, or the same of them"
for e in NVIDIA_TF32_OVERRIDE=1 CUBLAS_EMULATE_SINGLE_PRECISION=1 CUBLAS_EMULATE_DOUBLE_PRECISION=1; do
  env "$e" "$python" -c "from vsebench.rank.torch_backend import settings as s; s.LOWERED = (); print('$e', s.fault(s.device_of('cuda')))"
done

step "Tests on the GPU" \
  "no failure; none skipped for want of a GPU"
"$python" -m pytest -m gpu -rs -n "${WORKERS:-4}" -q tests
for e in NOTHING=1 TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1; do
  env "$e" "$python" -m pytest -q -m gpu -n 0 -k "hard_vectors or reduced or variables" tests/rank
done

step "The digits of numpy, on 400 images" \
  "equal, by faiss, torch:cpu and torch:cuda:0"
"$python" -m benchmarks backends --quick

step "Time" \
  "rows of torch:cuda:0 below those of numpy (docs/exactness.md has the times of an H200)"
"$python" -m benchmarks backends

step "Where the time goes" \
  "copies and matrix products first; the sum of Self CUDA below 0.3 s"
"$python" - <<'END'
import torch
from benchmarks import inputs, library

work = library.by_backend(inputs.Inputs(), "torch", "full")
work()
with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
    work()
print(profile.key_averages().table(sort_by="self_cuda_time_total", row_limit=20))
END

step "A GPU with little memory" \
  "a note 'numpy ranked, because the device cuda:0 has too little free memory', then an error with exit code 3 or the values"
for backend in auto torch:cuda; do
  "$python" - "$backend" <<'END'
import sys, numpy as np, torch, vsebench as vb

torch.cuda.set_per_process_memory_fraction(0.001)
x = np.random.default_rng(0).standard_normal((20_000, 1024))
try:
    report = vb.evaluate(x, x + 1, captions_per_image=1, metrics="R@1", ci=0, trust=True, backend=sys.argv[1])
    print(report["R@1", "i2t"].value, [n for n in report.notes if "memory" in n], report.provenance["backend"])
except vb.VsebenchError as error:
    print(error.exit_code, error)
END
done

step "Two processes" \
  "torch:cuda:0 with its name and driver, and torch:cuda:1 where there are two GPUs"
for rank in 0 1; do
  LOCAL_RANK=$rank "$python" -c "
import numpy as np, vsebench as vb
x = np.random.default_rng(0).standard_normal((500, 64))
report = vb.evaluate(x, x, captions_per_image=1, metrics='R@1', ci=0, trust=True)
print(report.provenance['backend'], report.provenance['device'])" &
done
wait

step "Workers of Dask, where the command sees no GPU" \
  "torch:cuda:0, torch:cuda:1 (one GPU: torch:cuda:0), each with its number of workers and its GPU, then True"
"$python" -c '
import os, sys, numpy as np, vsebench as vb
from distributed import LocalCluster

os.chdir(sys.argv[1])
x = np.random.default_rng(0).standard_normal((20_000, 256)).astype("f4")
np.savez("vectors.npz", image_embeddings=x, text_embeddings=x + np.roll(x, 1, 0))
options = {"captions_per_image": 1, "metrics": "recall", "ci": 0, "trust": True}
with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # of this process; the workers have started
    more = {"engine": "dask", "scheduler": cluster.scheduler_address, "backend": "torch:cuda"}
    report = vb.evaluate("vectors.npz", **options, **more)
same = vb.evaluate("vectors.npz", **options, backend="numpy")
print(report.provenance["backend"], report.provenance["workers"])
print([r.value for r in report.results] == [r.value for r in same.results])
' "$work"

step "torchrun on all GPUs: training, and validation divided among them" \
  "the table of the run; nvidia-smi meanwhile shows a process on every GPU, during validation too"
"$python" -m torch.distributed.run --nproc-per-node gpu -m vsebench train-reference --data scenes-200 --epochs 2 \
  --batch 120 --out "$work/run"

step "Encoding" \
  "a line '...npz: ...', then no failure"
vsebench encode "$work/run" --device cuda -o "$work/cuda.npz"
"$python" -m pytest -q -n 0 -m gpu tests/pretrained

step "Training in mixed precision" \
  "the table of the run"
vsebench train-reference --data scenes-200 --epochs 2 --batch 60 --set train.precision=bf16 --out "$work/bf16"

step "The suites at full size, with real data" \
  "no failure"
"$python" -m pytest -q -n 0 -m "gpu or real_data" tests/rank tests/relevance tests/graded tests/pretrained
