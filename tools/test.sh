#!/usr/bin/env bash
# usage: tools/test.sh [--quick | --changed]
#
# Installs what the tests need (Debian 12), builds, and runs every test. Continues after a failure.
# Ends with a table of where the time went and a line "N passed, N failed"; exits with 1 if a test
# failed.
#
# --quick: only the release build, its tests and the checks of sources.
# --changed: only the tests of the release build that the changes since WEFT_SINCE (default: main)
#   affect.
#
# WEFT_ACCEPT: folder of acceptance scripts (default: ../shared/accept); skipped if it is missing.
# WEFT_FUZZ_SECONDS: how long each fuzz target runs (default: 20).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scope=all
case "${1-}" in
  --quick | --changed) scope=${1#--} ;;
  "") ;;
  *)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    [[ $1 == --help || $1 == -h ]] && exit 0
    exit 2
    ;;
esac

passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

# report NAME SECONDS PASSED FAILED [REMARK]: adds to the totals and prints a line, and after a
# failure also the log.
report() {
  passed=$((passed + $3)) failed=$((failed + $4))
  if (($4 == 0)); then
    printf 'ok    %-40s %5d s  %s\n' "$1" "$2" "${5-}"
  else
    printf 'FAIL  %-40s %5d s  %s\n' "$1" "$2" "${5-}"
    tail -n 300 "$log" | sed 's/^/      /'
  fi
}

skip() { printf 'skip  %-40s          %s\n' "$1" "$2"; }

# step NAME COMMAND...: runs one check and returns its status.
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@" > "$log" 2>&1; then
    report "$name" $((SECONDS - start)) 1 0
  else
    report "$name" $((SECONDS - start)) 0 1
    return 1
  fi
}

build() {
  cmake --preset "$1" && cmake --build --preset "$@" -- --quiet
}

# run_ctest NAME PRESET [ARGUMENT...]: counts each test of CTest.
run_ctest() {
  local name=$1 preset=$2 start=$SECONDS suite=$scratch/junit.xml total bad skipped
  shift 2
  rm -f "$suite"
  ctest --preset "$preset" --output-junit "$suite" "$@" > "$scratch/ctest" 2>&1
  grep -vE '(Passed|Skipped)  |^ *Start ' "$scratch/ctest" > "$log"
  attribute() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$suite" 2> /dev/null | head -n 1; }
  total=$(attribute tests) bad=$(attribute failures) skipped=$(attribute skipped)
  if ((${total:-0} == 0)); then
    report "$name" $((SECONDS - start)) 0 1 "ctest ran nothing"
    return
  fi
  report "$name" $((SECONDS - start)) $((total - bad - skipped)) "$bad" "$total tests, $bad failed, $skipped skipped"
}

# each_of COMMAND NAME...: runs COMMAND NAME for every name, two at a time, because each keeps one
# core busy. Its output goes to $scratch/side/NAME, its status and seconds to NAME.end.
each_of() {
  local command=$1 name
  shift
  mkdir -p "$scratch/side"
  for name; do
    while (($(jobs -rp | wc -l) >= 2)); do wait -n; done
    {
      start=$SECONDS
      "$command" "$name" > "$scratch/side/$name" 2>&1
      echo "$? $((SECONDS - start))" > "$scratch/side/$name.end"
    } &
  done
  wait
}

# ended NAME: reads the result of each_of into $log, $status and $seconds.
ended() {
  mv "$scratch/side/$1" "$log"
  read -r status seconds < "$scratch/side/$1.end"
}

# accept SCRIPT: runs an acceptance script with the cases that tests/acceptance.txt names. Scripts
# that install packages of npm may not use the network.
accept() {
  local cases
  read -r -a cases < <(sed -n "s/#.*//; s/^$1\\b//p" tests/acceptance.txt)
  npm_config_offline=true /usr/bin/python3 "$accept_dir/$1.py" --bin build/release/bin "${cases[@]}"
}

# The clients' packages need Node 20.
has_node() {
  command -v npm > /dev/null && node -e 'process.exit(parseInt(process.versions.node) < 20)'
}

# report_accept SCRIPT: counts the cases of the script.
report_accept() {
  local counts
  ended "$1"
  if counts=$(tail -n 1 "$log" | grep -oE '^[0-9]+ passed, [0-9]+ failed'); then
    report "acceptance: $1" "$seconds" "${counts%% *}" "$(grep -oE '[0-9]+ failed' <<< "$counts" | cut -d ' ' -f 1)" "$counts"
  elif grep -q '^npm ci failed' "$log"; then
    skip "acceptance: $1" "npm cannot install its packages offline"
  else
    report "acceptance: $1" "$seconds" 0 1 "no line with totals"
  fi
}

report_fuzz() {
  ended "$1"
  report "fuzz $1" "$seconds" $((status == 0)) $((status != 0))
}

sources() { git ls-files -z '*.cpp' '*.h'; }
check_format() { sources | xargs -0 -n 50 -P 2 clang-format-14 --dry-run -Werror; }
check_shell() { git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck; }
check_packages() { tools/packages/install.sh build test && [[ -z $(tools/packages/install.sh build test) ]]; }

fuzz() {
  local target=$1 corpus=$scratch/corpus-$1
  mkdir -p "$corpus"
  "build/fuzz/bin/${target}_fuzz" "$corpus" "tests/fuzz/corpus/$target" -max_total_time="${WEFT_FUZZ_SECONDS:-20}" \
    -rss_limit_mb=2048 -timeout=30 -verbosity=0 -print_final_stats=1 -artifact_prefix="$scratch/"
}

# The line of the cpu backend, which names its instruction set. Fails if the machine lacks it.
cpu_line() { build/release/bin/weft backends 2> /dev/null | grep '^cpu *[^ ]'; }

run_changed() {
  local numbers
  if ! numbers=$(tools/changed_tests.py build/release --since "${WEFT_SINCE:-main}" 2> "$log"); then
    report "tests that the change affects" 0 0 1
  elif [[ -z $numbers ]]; then
    skip "tests" "the change affects none"
  else
    run_ctest "tests that the change affects" release -I "0,0,0,$numbers"
  fi
}

# The other tests of the binary have no threads of their own.
engine_with_tsan() {
  TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp build/tsan/bin/serve_test --source-file='*engine*'
}

# Sets from avx2 on give the same bits ("system: same_bits"), so they need not repeat everything.
run_isas() {
  local isa line
  for isa in sse2 avx2; do
    if ! line=$(WEFT_CPU_ISA=$isa cpu_line); then
      skip "tests with $isa" "this machine lacks it"
    elif [[ $line == "$(cpu_line)" ]]; then
      skip "tests with $isa" "the tests above used it"
    else
      # Tests of kernels always run once per instruction set. What is left out reads no results of
      # kernels.
      WEFT_CPU_ISA=$isa run_ctest "tests with $isa" release -R "^(system|quantize_test|run_test|measure_test|scheduler_test):" \
        -E "^system: (compare|opencl|page|pictures|plugins|slots)\$"
    fi
  done
}

build_arm64() {
  build arm64 --target weft generate cpu_kernels_test backends_test
}

# The kernels of neon_i8mm contain those of the other sets, or are compared with them.
run_arm64() {
  if ! tools/packages/install.sh build arm64 > "$log" 2>&1; then
    skip "64-bit Arm" "its packages cannot be installed"
  elif step "build for 64-bit Arm" build_arm64; then
    run_ctest "tests, 64-bit Arm, emulated" arm64 \
      -R '^(cpu kernels .* neon_i8mm|backends_test:.*|system: same_bits)$'
  fi
}

run_acceptance() {
  local scripts script
  accept_dir=${WEFT_ACCEPT:-../shared/accept}
  if [[ ! -d $accept_dir ]]; then
    skip "acceptance scripts" "no folder $accept_dir"
    return
  fi
  mapfile -t scripts < <(sed 's/#.*//' tests/acceptance.txt | awk 'NF { print $1 }')
  if ! has_node 2> /dev/null; then
    skip "acceptance: clients" "no npm, or a Node older than 20"
    mapfile -t scripts < <(printf '%s\n' "${scripts[@]}" | grep -vx clients)
  fi
  each_of accept "${scripts[@]}"
  for script in "${scripts[@]}"; do report_accept "$script"; done
}

run_fuzz() {
  local targets target
  mapfile -t targets < <(basename -s _fuzz build/fuzz/bin/*_fuzz)
  each_of fuzz "${targets[@]}"
  for target in "${targets[@]}"; do report_fuzz "$target"; done
}

step "packages" check_packages || exit 1

step "format" check_format
step "shell scripts" check_shell
step "sizes" tools/check_sizes.py
step "docs" tools/check_docs.py

if step "build release" build release; then
  if [[ $scope == changed ]]; then
    run_changed
  else
    run_ctest "tests, release" release
    step "instructions per token" bench/instructions.py
    [[ $scope == all ]] && run_isas
    run_acceptance
  fi
fi

if [[ $scope == all ]]; then
  # What is left out tests a script, and kernels that "cpu kernels" also runs with every set.
  step "build with ASan and UBSan" build dev \
    && run_ctest "tests, ASan and UBSan" dev -E '^(system: compare|conform: cpu avx(vnni|512|512vnni))$'
  if step "build with TSan" build tsan --target scheduler_test run_test serve_test; then
    run_ctest "tests, TSan" tsan -R '^(scheduler|run)_test:'
    step "tests of the server's engine, TSan" engine_with_tsan
  fi
  step "build fuzz targets" build fuzz && run_fuzz
  run_arm64
fi

printf '\nWhere the time went:\n'
tools/build_times.py
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
