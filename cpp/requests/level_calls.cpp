#include "requests/level_calls.h"

#include "runtime/runtime_core.h"

namespace gpuos::requests {

LevelCalls::LevelCalls(Runtime& runtime) : runtime_(runtime), calls_(kMost) {}

void LevelCalls::begin(const Stream& stream) {
  stream_ = stream;
  count_ = 0;
}

void LevelCalls::add(const Program& program, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs,
                     std::span<const Scalar> scalars) {
  if (runtime_.core().programs.write_call(program.plan(), inputs, outputs,
                                          scalars, stream_, calls_[count_]))
    count();
  else
    runtime_.submit(program, inputs, outputs, scalars, stream_);
}

void LevelCalls::flush() {
  const std::span calls(calls_.data(), count_);
  count_ = 0;
  if (calls.empty()) return;
  Submitter& submitter = runtime_.core().submitter;
  if (calls.size() >= kFewest && submitter.submit_independent(calls, stream_))
    return;
  for (Call& call : calls) submitter.submit(call, stream_);
}

}  // namespace gpuos::requests
