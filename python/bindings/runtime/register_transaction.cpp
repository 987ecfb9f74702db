#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/registrations.h"
#include "runtime/definition.h"
#include "runtime/operator_object.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

/// Holds definitions and replacements until the block ends.
class Transaction {
 public:
  explicit Transaction(std::shared_ptr<RuntimeObject> runtime)
      : runtime_(std::move(runtime)) {}
  ~Transaction() { close(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void enter() {
    if (is_open_ || is_done_)
      throw InvalidArgument(
          "transaction: expected a new transaction in each `with`, got one "
          "that "
          "was entered before");
    runtime_->begin_transaction();
    thread_ = std::this_thread::get_id();
    is_open_ = true;
  }

  void define(const py::object& name, const py::object& expression,
              const py::kwargs& keywords) {
    check_open("define");
    const DefinitionObject* given = as_definition(name);
    OperatorDefinition base;
    base.name = given != nullptr ? given->given.name
                                 : text_of(name, "transaction: define: name");
    if (given != nullptr && !expression.is_none())
      throw InvalidArgument(
          "transaction: define: expected no other argument with a "
          "Definition, got more");
    changes_.push_back(
        {.definition = definition_from(std::move(base),
                                       given != nullptr ? name : expression,
                                       keywords, "transaction: define")});
  }

  void replace(const py::object& op, const py::object& expression,
               const py::object& expected, const py::kwargs& keywords) {
    check_open("replace");
    check_is_not_new(op);
    const OperatorPtr known = runtime_->resolve(op.ptr());
    changes_.push_back(
        {.definition = definition_from(known->definition, expression, keywords,
                                       "transaction: replace"),
         .replaces = known->op,
         .expected = version_from(expected, "transaction: replace: expected")});
  }

  void leave(const py::object& kind) {
    close();
    is_done_ = true;
    if (!kind.is_none() || changes_.empty()) return;
    const std::vector<Operator> operators =
        interruptible([&] { return runtime_->core().change(changes_); });
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (changes_[i].replaces.record() == nullptr)
        runtime_->remember(std::make_shared<OperatorObject>(
            runtime_.get(), operators[i], changes_[i].definition));
  }

 private:
  void close() {
    if (!std::exchange(is_open_, false)) return;
    const WithLock lock;
    runtime_->end_transaction(thread_);
  }

  void check_open(const char* what) const {
    if (!is_open_)
      throw InvalidArgument(std::string("transaction: ") + what +
                            ": expected to be inside its `with` block");
  }

  void check_is_not_new(const py::object& op) const {
    if (PyUnicode_Check(op.ptr()) == 0) return;
    const std::string name = text_of(op, "transaction: replace: op");
    for (const OperatorChange& change : changes_)
      if (change.replaces.record() == nullptr && change.definition.name == name)
        throw InvalidArgument(
            "transaction: replace: expected an operator that is there, got '" +
            name +
            "', which is defined in this block; define it once, with "
            "the last text");
  }

  std::shared_ptr<RuntimeObject> runtime_;
  std::vector<OperatorChange> changes_;
  std::thread::id thread_;  // the thread that entered
  bool is_open_ = false;
  bool is_done_ = false;
};

}  // namespace

void register_transaction(py::module_& module) {
  const auto none = py::none();
  auto type = add_result_class<Transaction>(module, "Transaction");
  type.def("define", &Transaction::define, py::arg("name"),
           py::arg("expression") = none)
      .def("replace", &Transaction::replace, py::arg("op"),
           py::arg("expression") = none, py::kw_only(),
           py::arg("expected") = none)
      .def("__getattr__",
           [](const Transaction&, const std::string& name) -> py::object {
             throw py::attribute_error(
                 "transaction: expected define() or replace(), got " + name +
                 "; a runtime's other calls come before or after the block");
           })
      .def("__enter__",
           [](const py::object& self) {
             self.cast<Transaction&>().enter();
             return self;
           })
      .def(
          "__exit__",
          [](Transaction& self, const py::object& kind, const py::object&,
             const py::object&) { self.leave(kind); },
          py::arg("kind"), py::arg("error"), py::arg("traceback"),
          py::pos_only());
  py::setattr(reinterpret_cast<PyObject*>(runtime_type), "transaction",
              py::cpp_function(
                  [](const std::shared_ptr<RuntimeObject>& self) {
                    return std::make_unique<Transaction>(self);
                  },
                  py::name("transaction"),
                  py::is_method(
                      py::handle(reinterpret_cast<PyObject*>(runtime_type)))));
}

}  // namespace gpuos::python
