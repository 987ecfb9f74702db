// Runs flat tasks of plain texts on the interpreter's shortest path. It has
// little code and no calls, because calls would make it save registers. A
// launch fetches its code again, and the saved registers of all lanes do not
// fit in the L1. docs/lab/interpreter.md lists the other attempts.
#pragma once

#include "interpreter/inner_loop.h"

namespace gpuos {
namespace program {

// The parts of such a task that a worker needs.
struct PlainTask {
  const u64* args;  // after the text's address
  const u64* instructions;
  TextHeader header;
  u32 flat;     // as in TaskShape
  u32 row_end;  // where part 0 ends,
  u32 end;      // and part 1
  u32 columns;

  // All threads.
  __device__ PlainTask(const Task& task, const u64* text, TextHeader head)
      : args(task.args + 1),
        instructions(text + 1 + head.parts),
        header(head),
        flat(bit_cast<TaskShape>(args[head.accesses + head.scalars]).flat),
        row_end(static_cast<u32>(part_ends(text)[0])),
        end(static_cast<u32>(part_ends(text)[1])),
        columns(task.count) {}
};

template <u32 W>
class PlainInterpreter {
 public:
  __device__ explicit PlainInterpreter(const PlainTask& task)
      : task_(task),
        loop_{scratch_address(),
              scratch_address() + kTextBytes + threadIdx.x * W * 4} {}

  // For all threads. Runs the row's part with the first columns, because its
  // accesses stay at one element.
  __device__ void run(u32 tile, u32 tiles) {
    keep();
    __syncthreads();
    const u32 step = tiles * blockDim.x * W;
    u32 begin = 0;
    Values<W> last{};
#pragma unroll 1
    for (u32 column = (tile * blockDim.x + threadIdx.x) * W;
         column < task_.columns; column += step) {
      run_steps(begin, column, last);
      begin = task_.row_end;
    }
  }

 private:
  __device__ void keep() const {
    Ready* kept = reinterpret_cast<Ready*>(scratch);
    for (u32 i = threadIdx.x; i < task_.end; i += blockDim.x)
      kept[i] = resolve(bit_cast<Instruction>(task_.instructions[i]));
    if (threadIdx.x < kAhead) clear_step(task_.end + threadIdx.x);
  }
  __device__ Ready resolve(const Instruction& x) const {
    Resolved resolved{0, x.index, x.form};
    if (x.form != kCompute) {
      // The arguments are the addresses of accesses, then the scalars.
      const bool is_scalar = x.form == kScalar;
      resolved.function =
          is_scalar && x.index >= task_.header.scalars
              ? task_.instructions[task_.end + x.index - task_.header.scalars]
              : task_.args[x.index + (is_scalar ? task_.header.accesses : 0)];
      resolved.index = task_.flat >> x.index & 1 ? 4 : 0;
      resolved.form = is_scalar         ? kInlinedScalar
                      : x.form == kLoad ? kInlinedLoad
                                        : kInlinedStore;
    }
    return step_of(x, resolved, blockDim.x * W * 4);
  }

  __device__ __forceinline__ void run_steps(u32 begin, u32 column,
                                            Values<W>& last) const {
    const InnerLoop<W> loop = loop_;
    u32 at = loop.place_of(begin);
    const u32 stop = loop.place_of(task_.end);
    Ahead<W> ahead(loop, at);
#pragma unroll 1
    for (; at != stop; at += sizeof(Ready)) {
      const Ready step = ahead.step();
      const Operands<W> x = loop.take(step, ahead.cells, last);
      ahead.go_on(loop, at);
      if (!loop.compute(step, x, last)) run_access(step, at, column, x, last);
      loop.write_result(step, last);
    }
  }
  __device__ __forceinline__ void run_access(const Ready& step, u32 at,
                                             u32 column, const Operands<W>& x,
                                             Values<W>& last) const {
    const u64 function = loop_.fetch(at).function;
    const i64 stride = step.index();
    char* const first =
        reinterpret_cast<char*>(function + u64{column} * step.index());
    const u32 left = task_.columns - column;
    const u32 valid = left < W ? left : W;
    if (step.kind() == kInlinedLoad) {
      loop_.load(first, stride, valid, last);
    } else if (step.kind() == kInlinedStore) {
      loop_.store(x.a, first, stride, valid);
    } else {
#pragma unroll
      for (u32 w = 0; w < W; ++w) last.low[w] = static_cast<u32>(function);
    }
  }

  const PlainTask& task_;
  const InnerLoop<W> loop_;
};

}  // namespace program
}  // namespace gpuos
