#include "pass_through.h"

#include "backoff.h"
#include "pending.h"

namespace gpuos::bridge {

void run_before_pass(bool is_apart) {
  pending.count_left();
  note_left();
  if (pending.is_empty()) return;
  if (!is_apart || !pending.may_wait())
    pending.flush();
  else
    pending.start_if_large();
}

}  // namespace gpuos::bridge
