#!/usr/bin/env bash
# The whole training on one machine, as the shipped weights were made (4 GPUs; with one or two, the stages share them).
#
#   WORK=/tmp/work JOINT_END=300 END=1470 ./train.sh      # seconds after the start; $WORK/text.txt must be there (make_text.py)
#
# Speech, kernels and the language model's compilation overlap; logs and results are in $WORK. Write another unix time to
# $WORK/end while it runs to move the end; the learning rates follow.
set -u
cd "$(dirname "$0")"
start=$(date +%s)
say() { echo "[$(($(date +%s) - start))] $*"; }
gpus=${GPUS:-$(nvidia-smi -L | wc -l)}
all=$(seq -s, 0 $((gpus - 1)))
first=$(seq -s, 0 $(((gpus + 1) / 2 - 1)))                          # the decoder's GPUs
second=$(seq -s, $((gpus / 2)) $((gpus - 1)))                       # the language model's
count() { echo "$1" | tr ',' '\n' | wc -l; }
launch() { local on=$1 port=$2; shift 2; CUDA_VISIBLE_DEVICES=$on torchrun --nproc_per_node "$(count "$on")" --master_port "$port" "$@"; }
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
mkdir -p "$WORK/log"
echo $((start + JOINT_END)) > "$WORK/joint_end"
echo $((start + END)) > "$WORK/end"

nice -n 19 python3 make_speech.py --text "$WORK/text.txt" --out "$WORK/speech" --voices heart:1 joe:6 --procs "${PROCS:-54}" > "$WORK/log/speech.log" 2>&1 &

warm=()
for i in 0 1 2 3 4 5 6 7 8; do CUDA_VISIBLE_DEVICES=$((i % gpus)) python3 kernels.py $i 9 >> "$WORK/log/warm.log" 2>&1 & warm+=($!); done
wait "${warm[@]}"
say kernels are compiled

launch "$second" 29511 train_lm.py --speech "$WORK/speech" --codec "$WORK/codec/joint.pt" --out "$WORK/lm" --until "$WORK/end" --compile > "$WORK/log/lm.log" 2>&1 &
lm=$!

# Forty seconds of each optimizer on a GPU of its own; the best goes on with all of them. (Muon at 1e-3 won.)
if [ "$gpus" -ge 4 ]; then
  tries=()
  attempt() { CUDA_VISIBLE_DEVICES=$1 python3 train_codec.py joint --speech "$WORK/speech" --out "$WORK/try$1" --seconds 40 --lr-end 0.5 --hours 20 --optimizer "$2" --lr "$3" > "$WORK/log/try$1.log" 2>&1; }
  attempt 0 adam 1e-3 & tries+=($!)
  attempt 1 muon 1e-3 & tries+=($!)
  attempt 2 muon 3e-3 & tries+=($!)
  attempt 3 adam 2e-3 & tries+=($!)
  wait "${tries[@]}"
  grep -H ' mel ' "$WORK"/log/try?.log | awk '{last[$1] = $0} END {for (k in last) print last[k]}'
  init=(--init "$WORK/try1/joint.pt")
fi
launch "$all" 29512 train_codec.py joint --speech "$WORK/speech" --out "$WORK/codec" --until "$WORK/joint_end" "${init[@]+"${init[@]}"}" \
  --optimizer muon --lr 1e-3 > "$WORK/log/joint.log" 2>&1
say the encoder is frozen, the language model starts
launch "$first" 29513 train_codec.py decoder --speech "$WORK/speech" --out "$WORK/codec" --until "$WORK/end" --init "$WORK/codec/joint.pt" \
  --optimizer muon --lr 6e-4 --lr-end 0.03 --hours 55 --batch 16 > "$WORK/log/decoder.log" 2>&1
wait $lm
say "done: $WORK/codec/audiovae.safetensors and $WORK/lm/model.safetensors; common.py writes the rest:"
python3 common.py "$WORK/model" && cp "$WORK/codec/audiovae.safetensors" "$WORK/lm/model.safetensors" "$WORK/model/" && ls -l "$WORK/model"
