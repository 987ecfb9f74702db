// Replacement of modules on a simulated driver: random steps compared with a
// model, and the modules that the driver then has loaded.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "driver/driver_api.h"
#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/jit_module.h"
#include "nvrtc_support.h"
#include "simulated_support.h"

namespace gpuos {
namespace {

using Bytes = std::vector<char>;

template <typename T>
Bytes bytes_of(std::initializer_list<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

struct Variable {
  std::string type;
  Bytes first;
};

/// A source, and its properties for the tests.
struct Variant {
  std::string text;
  /// Types without const, by names. Kernels with extern "C" have bytes.
  std::map<std::string, std::string> kernels{};
  std::map<std::string, Variable> variables{};
  bool compiles = true;

  JitReplacement replacement(std::vector<std::string> keep = {}) const {
    JitReplacement made{.source = text, .keep = std::move(keep)};
    made.name_expressions.emplace();
    for (const auto& [name, variable] : variables)
      made.name_expressions->push_back("&" + name);
    return made;
  }
};

Variable an_int() { return {"int", bytes_of({1})}; }
Variable a_pair() { return {"float [2]", bytes_of({1.0f, 2.0f})}; }

const std::array<Variant, 9>& variants() {
  static const std::array<Variant, 9> all{
      Variant{.text = "__device__ int v = 1; __device__ float w[2] = {1, 2};"
                      "__global__ void k(float* x, int n) { x[n] = v; }"
                      "extern \"C\" __global__ void e(int* x) { *x = w[1]; }",
              .kernels = {{"k", "float*, int"}, {"e", "8"}},
              .variables = {{"v", an_int()}, {"w", a_pair()}}},
      Variant{.text = "__device__ int v = 5; __constant__ float w[2] = {3, 4};"
                      "__global__ void k(float* x, int n) { x[n] = v + 2; }"
                      "extern \"C\" __global__ void e(int* x) { *x = w[0]; }",
              .kernels = {{"k", "float*, int"}, {"e", "8"}},
              .variables = {{"v", {"int", bytes_of({5})}},
                            {"w", {"float [2]", bytes_of({3.0f, 4.0f})}}}},
      // A const, a longer v and one kernel more.
      Variant{.text = "__device__ int v[2] = {7, 8}; __device__ float w[2];"
                      "__global__ void k(const float* x, int n) { v[n] = *x; }"
                      "__global__ void m(int n) { w[n] = n; }"
                      "extern \"C\" __global__ void e(int* x) { *x = w[0]; }",
              .kernels = {{"k", "float*, int"}, {"e", "8"}, {"m", "int"}},
              .variables = {{"v", {"int [2]", bytes_of({7, 8})}},
                            {"w", {"float [2]", Bytes(8)}}}},
      // k has another type.
      Variant{.text = "__device__ int v = 1;"
                      "__global__ void k(float* x, float n) { *x = v + n; }"
                      "extern \"C\" __global__ void e(int* x) { *x = 1; }",
              .kernels = {{"k", "float*, float"}, {"e", "8"}},
              .variables = {{"v", an_int()}}},
      // k is missing.
      Variant{.text = "__device__ int v = 1;"
                      "extern \"C\" __global__ void e(int* x) { *x = v; }",
              .kernels = {{"e", "8"}},
              .variables = {{"v", an_int()}}},
      // e takes more.
      Variant{.text = "__device__ float w[2] = {1, 2};"
                      "__global__ void k(float* x, int n) { x[n] = w[n]; }"
                      "extern \"C\" __global__ void e(int* x, int n)"
                      "{ *x = n; }",
              .kernels = {{"k", "float*, int"}, {"e", "8, 4"}},
              .variables = {{"w", a_pair()}}},
      // e takes something wider.
      Variant{.text = "__global__ void k(float* x, int n) { x[n] = 4; }"
                      "struct S { int* x; int n; };"
                      "extern \"C\" __global__ void e(S s) { *s.x = s.n; }",
              .kernels = {{"k", "float*, int"}, {"e", "16"}},
              .variables = {}},
      // v is as long, and something else.
      Variant{
          .text = "__device__ float v = 9; __device__ float w[2] = {1, 2};"
                  "__global__ void k(float* x, int n) { x[n] = v + w[n]; }"
                  "extern \"C\" __global__ void e(int* x) { *x = 3; }",
          .kernels = {{"k", "float*, int"}, {"e", "8"}},
          .variables = {{"v", {"float", bytes_of({9.0f})}}, {"w", a_pair()}}},
      Variant{.text = "__global__ void k(float* x, int n) { nonsense }",
              .compiles = false}};
  return all;
}

/// The expected state of a JitModule.
class World {
 public:
  explicit World(sim::Simulator& simulator)
      : simulator_(simulator),
        before_(simulator.modules()),
        faults_(simulator.faults().size()) {
    for (cu::CUstream& stream : streams_)
      cu::driver().cuStreamCreate(&stream, 0);
    begin();
  }

  void step(std::mt19937& random) {
    const auto pick = [&](std::size_t n) { return random() % n; };
    switch (pick(8)) {
      case 0:
        get(std::array{"k", "e", "m"}[pick(3)]);
        break;
      case 1:
      case 2:
        if (!handles_.empty()) launch(pick(handles_.size()), pick(3));
        break;
      case 3:
        if (handles_.size() > 6) handles_.erase(handles_.begin());
        write(pick(2) == 0 ? "v" : "w", static_cast<char>(random()));
        break;
      case 4:
      case 5: {
        std::vector<std::string> keep;
        if (pick(3) == 0) keep.emplace_back("v");
        if (pick(3) == 0) keep.emplace_back("w");
        replace(variants()[pick(variants().size())], keep);
        break;
      }
      case 6:
        simulator_.hold_events(holds_ = pick(2) == 0);
        break;
      default:
        if (pick(4) == 0) end_and_begin();
    }
    check();
  }

  void end() {
    simulator_.hold_events(holds_ = false);
    end_and_begin();
    // A load removes modules whose launches have ended.
    get("k");
    end_and_begin();
    check();
    EXPECT_EQ(waiting_.size(), 0u);
  }

 private:
  struct Handle {
    std::string name;
    Kernel kernel;
  };

  void begin() {
    now_ = variants()[0];
    version_ = 1;
    current_ = 0;
    known_.clear();
    JitReplacement first = now_.replacement();
    module_.emplace(JitSource{.source = first.source,
                              .name_expressions = *first.name_expressions});
    values_.clear();
    for (const auto& [name, variable] : now_.variables)
      values_[name] = variable.first;
  }

  void end_and_begin() {
    handles_.clear();
    module_.reset();
    drop_current();
    begin();
  }

  // Loads the module. A load looks for modules that can be removed.
  void load() {
    if (current_ != 0) return;
    current_ = ++loads_;
    sweep();
  }

  void get(const std::string& name) {
    if (!now_.kernels.contains(name)) {
      EXPECT_THROW(module_->kernel(name), InvalidArgument);
      return;
    }
    handles_.push_back({name, module_->kernel(name)});
    load();
    known_.try_emplace(name, now_.kernels.at(name));
  }

  void launch(std::size_t i, std::size_t where) {
    const Handle& handle = handles_[i];
    const bool is_captured = where == 2;
    if (is_captured)
      cu::driver().cuStreamBeginCapture(streams_[1],
                                        cu::CU_STREAM_CAPTURE_MODE_RELAXED);
    const Stream stream = where == 0   ? Stream()
                          : where == 1 ? Stream(streams_[0])
                                       : Stream(streams_[1]);
    simulator_.reset_counts();
    handle.kernel.launch(2, 32, arguments(now_.kernels.at(handle.name)), 0,
                         stream);
    if (is_captured) {
      cu::CUgraph graph = nullptr;
      cu::driver().cuStreamEndCapture(streams_[1], &graph);
    }
    const auto launched = simulator_.kernels();
    ASSERT_EQ(launched.size(), 1u);
    EXPECT_EQ(launched[0].module, first_ + current_) << handle.name;
    EXPECT_EQ(launched[0].is_captured, is_captured);
    if (is_captured)
      captured_.insert(current_);
    else if (where == 0 || version_ > 1)
      followed_.insert(current_);
  }

  KernelArgs arguments(const std::string& takes) const {
    if (takes == "16") return KernelArgs::of(std::array{this, this});
    KernelArgs args;
    if (takes != "int") args.add(this);
    if (takes != "8") args.add(Scalar(3));
    return args;
  }

  void write(const std::string& name, char value) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    const Bytes bytes(found->second.size(), value);
    module_->write(name, bytes.data(), bytes.size());
    found->second = bytes;
    load();
  }

  // Returns the reason for a refusal, or an empty text. Counts its loads.
  std::string refusal(const Variant& next,
                      const std::vector<std::string>& keep) {
    if (!next.compiles) return "compile";
    const auto has = [](const Variant& variant, const std::string& name) {
      return variant.variables.contains(name);
    };
    const auto has_all = [&](const Variant& variant) {
      return std::ranges::all_of(
          keep, [&](const std::string& name) { return has(variant, name); });
    };
    if (has_all(now_) && has_all(next)) {
      for (const std::string& name : keep) {
        if (now_.variables.at(name).type != next.variables.at(name).type)
          return "expected " + now_.variables.at(name).type;
      }
    }
    if (current_ == 0 && keep.empty()) return "";
    next_ = ++loads_;
    sweep();
    for (const auto& [name, takes] : known_) {
      const auto found = next.kernels.find(name);
      if (found == next.kernels.end() || found->second != takes)
        return "which is in use";
    }
    for (const std::string& name : keep) {
      if (!has(now_, name)) return "name";
      load();
      if (!has(next, name)) return "name";
      if (now_.variables.at(name).first.size() !=
          next.variables.at(name).first.size())
        return "bytes";
    }
    return "";
  }

  void replace(const Variant& next, const std::vector<std::string>& keep) {
    next_ = 0;
    const std::string why = refusal(next, keep);
    if (why.empty()) {
      EXPECT_EQ(module_->replace(next.replacement(keep)), ++version_);
      std::map<std::string, Bytes> values;
      for (const auto& [name, variable] : next.variables)
        values[name] = std::ranges::find(keep, name) == keep.end()
                           ? variable.first
                           : values_.at(name);
      values_ = std::move(values);
      now_ = next;
      drop_current();
      current_ = next_;
      return;
    }
    try {
      module_->replace(next.replacement(keep));
      ADD_FAILURE() << "was taken, in spite of: " << why;
    } catch (const CompileError&) {
      EXPECT_FALSE(next.compiles);
    } catch (const InvalidArgument& error) {
      EXPECT_TRUE(says(error.what(), why))
          << error.what() << ", expected: " << why;
    }
    if (next_ != 0) sweep();
  }

  void drop_current() {
    if (current_ == 0) return;
    if (followed_.contains(current_) && !captured_.contains(current_))
      waiting_.insert(current_);
    sweep();
    current_ = 0;
  }

  void sweep() {
    if (!holds_) waiting_.clear();
  }

  void check() {
    EXPECT_EQ(module_ ? module_->version() : version_, version_);
    const sim::ModuleCounts counts = simulator_.modules();
    EXPECT_EQ(counts.loads - before_.loads, loads_);
    std::set<std::uint64_t> alive = captured_;
    alive.insert(waiting_.begin(), waiting_.end());
    if (current_ != 0) alive.insert(current_);
    EXPECT_EQ(counts.loads - before_.loads - (counts.unloads - before_.unloads),
              alive.size());
    EXPECT_EQ(simulator_.faults().size(), faults_)
        << simulator_.faults().back();
    if (!module_ || current_ == 0) return;
    for (const auto& [name, value] : values_) {
      Bytes found(value.size());
      module_->read(name, found.data(), found.size());
      EXPECT_EQ(found, value) << name;
    }
    for (const Handle& handle : handles_)
      EXPECT_EQ(handle.kernel.name(), handle.name);
  }

  sim::Simulator& simulator_;
  const sim::ModuleCounts before_;
  const std::size_t faults_;
  const std::uint64_t first_ = before_.loads;
  std::array<cu::CUstream, 2> streams_{};
  std::optional<JitModule> module_;
  std::vector<Handle> handles_;

  Variant now_;
  std::uint64_t version_ = 1;
  std::map<std::string, std::string> known_;
  std::map<std::string, Bytes> values_;
  std::uint64_t loads_ = 0;
  std::uint64_t current_ = 0;  // number of the load; 0: none
  std::uint64_t next_ = 0;
  bool holds_ = false;
  std::set<std::uint64_t> captured_, followed_, waiting_;
};

class ReplacedModules : public SimulatedTest {
 protected:
  void SetUp() override {
    SimulatedTest::SetUp();
    GPUOS_SKIP_WITHOUT_NVRTC();
  }
  void TearDown() override {
    if (simulator_ != nullptr) simulator_->hold_events(false);
  }

  static JitModule first() {
    const JitReplacement made = variants()[0].replacement();
    return JitModule(
        {.source = made.source, .name_expressions = *made.name_expressions});
  }
  std::uint64_t alive() const {
    const sim::ModuleCounts counts = simulator_->modules();
    return counts.loads - counts.unloads;
  }
};

TEST_F(ReplacedModules, RandomStepsMatchTheModel) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    World world(simulator());
    for (int i = 0; i < 60; ++i) {
      SCOPED_TRACE(i);
      world.step(random);
      if (HasFailure()) return;
    }
    world.end();
    if (HasFailure()) return;
  }
}

TEST_F(ReplacedModules, OtherParametersNameBoth) {
  JitModule module = first();
  const Kernel k = module["k"];
  EXPECT_EQ(thrown_by<InvalidArgument>(
                [&] { module.replace(variants()[3].replacement()); }),
            "module.cu: replace: expected k(float*: 8 bytes, int: 4 bytes), "
            "which is in use, got k(float*: 8 bytes, float: 4 bytes)");
}

TEST_F(ReplacedModules, OmittedArgumentsAreKept) {
  JitModule module({.source = "__global__ void k() { int x = N; }",
                    .headers = {{"one.h", "#define ONE 1"}},
                    .options = {.defines = {{"N", "1"}}}});
  const char* const uses_both =
      "#include \"one.h\"\n__global__ void k(int* x) { *x = N + ONE; }";
  EXPECT_EQ(module.replace({.source = uses_both}), 2u);
  EXPECT_THROW(module.replace({.source = uses_both, .options = JitOptions{}}),
               CompileError);
  EXPECT_EQ(module.version(), 2u);
  // A refused replacement does not change the options.
  EXPECT_EQ(module.replace({.source = uses_both}), 3u);
  EXPECT_EQ(module.replace({.source = "__global__ void k(int* x) { *x = M; }",
                            .options = JitOptions{.defines = {{"M", "2"}}}}),
            4u);
  EXPECT_THROW(module.replace({.source = uses_both}), CompileError);
}

TEST_F(ReplacedModules, AnImageIsReplacedByASource) {
  JitModule module = JitModule::from_image(first().image(), "given");
  const Kernel k = module["k"];
  EXPECT_EQ(module.replace(variants()[1].replacement({"v"})), 2u);
  int v = 0;
  module.read("v", &v, sizeof v);
  EXPECT_EQ(v, 1);
  simulator().reset_counts();
  k.launch(1, 1, KernelArgs::of(this, 3));
  EXPECT_EQ(simulator().kernels().at(0).module, simulator().modules().loads);
}

TEST_F(ReplacedModules, HandlesOutliveTheirModule) {
  const std::uint64_t before = alive();
  Kernel k;
  {
    JitModule module = first();
    k = module["k"];
    module.replace(variants()[1].replacement());
  }
  EXPECT_EQ(alive(), before + 1);
  k.launch(1, 1, KernelArgs::of(this, 3));
  k = {};
  EXPECT_EQ(alive(), before);
}

// The control thread of an idle runtime looks for the end of launches.
TEST_F(ReplacedModules, ARuntimeUnloadsFinishedModules) {
  Runtime runtime(simulated_options());
  JitModule module = first();
  const Kernel k = module["k"];
  const std::uint64_t loaded = alive();
  const std::uint64_t waited = simulator().modules().waiting_unloads;
  cu::CUstream stream = nullptr;
  cu::driver().cuStreamCreate(&stream, 0);
  module.replace(variants()[1].replacement());
  for (const Stream& where : {Stream(), Stream(stream)}) {
    ASSERT_TRUE(becomes_true([&] { return alive() == loaded; }));
    simulator().hold_events(true);
    k.launch(1, 1, KernelArgs::of(this, 3), 0, where);
    module.replace(variants()[0].replacement());
    // It looks at them meanwhile.
    runtime.synchronize(std::chrono::seconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(alive(), loaded + 1);
    simulator().hold_events(false);
  }
  EXPECT_TRUE(becomes_true([&] { return alive() == loaded; }));
  EXPECT_EQ(simulator().modules().waiting_unloads, waited);
}

TEST_F(ReplacedModules, ACaptureOfAnotherStreamIsNotSpoilt) {
  JitModule module = first();
  const Kernel k = module["k"];
  k.launch(1, 1, KernelArgs::of(this, 3));
  cu::CUstream stream = nullptr;
  cu::driver().cuStreamCreate(&stream, 0);
  cu::driver().cuStreamBeginCapture(stream, cu::CU_STREAM_CAPTURE_MODE_GLOBAL);
  const std::uint64_t loaded = alive();
  module.replace(variants()[1].replacement());
  EXPECT_EQ(alive(), loaded + 1);
  EXPECT_EQ(simulator().faults(), std::vector<std::string>{});
  cu::CUgraph graph = nullptr;
  cu::driver().cuStreamEndCapture(stream, &graph);
  module.replace(variants()[0].replacement());
  EXPECT_EQ(alive(), loaded);
}

// Both kernels of a thread's turn are of one version, and never of an earlier
// one than those before.
TEST_F(ReplacedModules, LaunchesOfOtherThreadsSeeOneMoment) {
  JitModule module = first();
  const std::array kernels{module["k"], module["e"]};
  simulator().reset_counts();
  constexpr unsigned kThreads = 3, kReplacements = 100;
  std::atomic<unsigned> turns{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          kernels[0].launch(t + 1, 1, KernelArgs::of(&module, 3));
          kernels[1].launch(t + 1, 1, KernelArgs::of(&module));
          ++turns;
        }
      });
    }
    for (unsigned i = 0; i < kReplacements; ++i) {
      module.replace(variants()[1 - i % 2].replacement());
      const unsigned before = turns.load();
      // One turn may have begun before it.
      ASSERT_TRUE(becomes_true([&] { return turns > before + kThreads; }));
    }
  }
  const auto launched = simulator().kernels();
  std::map<unsigned, std::uint64_t> last;
  std::set<std::uint64_t> seen;
  for (const sim::KernelLaunch& launch : launched) {
    EXPECT_GE(launch.module, last[launch.grid]);
    last[launch.grid] = launch.module;
    seen.insert(launch.module);
  }
  EXPECT_GE(seen.size(), kReplacements);
  EXPECT_EQ(simulator().faults(), std::vector<std::string>{});
}

}  // namespace
}  // namespace gpuos
