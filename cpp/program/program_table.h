#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend.h"
#include "call.h"
#include "gpuos/program.h"
#include "gpuos/runtime.h"
#include "operator_record.h"
#include "program/layout.h"
#include "program/plan.h"
#include "program/task.h"
#include "program/tiers.h"
#include "submitter.h"

namespace gpuos {

/// The programs that one runtime has been given, and how each of their passes
/// runs now.
///
/// Threads: any.
class ProgramTable {
 public:
  ProgramTable(Backend& backend, Submitter& submitter, program::Tiers& tiers);
  ~ProgramTable();
  ProgramTable(const ProgramTable&) = delete;
  ProgramTable& operator=(const ProgramTable&) = delete;

  using Allocate = std::function<Buffer(std::size_t)>;

  /// `allocate` gives memory that is freed behind the tasks that use it.
  Ticket submit(const std::shared_ptr<const program::Plan>& plan,
                std::span<const TensorView> inputs,
                std::span<const TensorView> outputs,
                std::span<const Scalar> scalars, const Stream& stream,
                const Allocate& allocate);

  /// Have every pass of the program compiled; false if that takes longer.
  /// Throws: CompileError.
  bool compile(const std::shared_ptr<const program::Plan>& plan,
               Deadline deadline);

  std::uint64_t calls() const noexcept { return calls_.load(); }
  /// Different ones that were called or compiled and still exist.
  std::uint64_t programs() const;

 private:
  /// What runs a pass, shared by programs that have one of this structure.
  struct Code {
    std::string structure;
    void* text = nullptr;     // memory of the backend
    std::uint32_t cells = 0;  // that the text needs
    std::shared_ptr<program::Tier> tier;
  };
  struct Entry {
    std::weak_ptr<const program::Plan> plan;
    std::vector<std::shared_ptr<Code>> fused;
    std::vector<std::shared_ptr<Code>> split;
  };
  struct Submission;

  std::shared_ptr<const Entry> find(
      const std::shared_ptr<const program::Plan>& plan);
  std::shared_ptr<Code> code_for(const program::Pass& pass);
  Ticket submit_pass(Submission& submission, const program::Pass& pass,
                     Code& code);
  Ticket submit_piece(Submission& submission, const program::Pass& pass,
                      Code& code, const program::Layout& layout);
  std::uint64_t far_table(Submission& submission,
                          std::span<const std::uint64_t> table);
  /// One ticket for both. Waits for `first` if no ticket can say both.
  Ticket join(const Ticket& first, const Ticket& second);

  Backend& backend_;
  Submitter& submitter_;
  program::Tiers& tiers_;
  std::atomic<std::uint64_t> calls_{0};
  mutable std::mutex mutex_;
  std::map<const program::Plan*, std::shared_ptr<const Entry>> entries_;
  std::map<std::string, std::shared_ptr<Code>, std::less<>> codes_;
};

}  // namespace gpuos
