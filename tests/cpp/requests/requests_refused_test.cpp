// A request that is refused takes nothing else of its run along.
#include <functional>
#include <string>

#include "request_contract.h"

namespace gpuos {
namespace {

class RefusedRequest : public RequestContract {
 protected:
  struct Kind {
    std::string name;
    std::function<RequestOperand(RefusedRequest&)> out;
    std::function<RequestOperand(RefusedRequest&)> in;
  };

  // Returns a part of the array. An array is its own owner, if parts do not
  // have another.
  static RequestOperand place(const DeviceArray<float>& array,
                              std::size_t first, const void* owner) {
    RequestOperand operand = part(array, first, kSize - 2);
    operand.owner = owner;
    return operand;
  }
  static RequestOperand beside(RequestOperand operand) {
    operand.view.data = static_cast<char*>(operand.view.data) + 1;
    return operand;
  }

  static std::vector<Kind> kinds() {
    return {
        {"overlaps in its owner",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) { return place(*at.bad_, 0, at.bad_); }},
        {"overlaps another owner",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) { return place(*at.bad_, 0, &at); }},
        {"is not aligned",
         [](RefusedRequest& at) { return beside(place(*at.bad_, 1, at.bad_)); },
         [](RefusedRequest& at) { return place(*at.other_, 0, at.other_); }},
        {"reads what is not aligned",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) {
           return beside(place(*at.other_, 0, at.other_));
         }},
    };
  }

  DeviceArray<float>* bad_ = nullptr;
  DeviceArray<float>* other_ = nullptr;
};

GPUOS_INSTANTIATE_CONTRACT(RefusedRequest);

// The refused request is alone or with a reader, before, between or after a
// chain and a write.
TEST_P(RefusedRequest, TakesAlongWhatReadsItAlone) {
  constexpr std::size_t kPlaces = 4;
  for (const Kind& kind : kinds())
    for (const Recipe recipe : {Recipe::Copy, Recipe::Exp})
      for (const bool has_chain : {false, true})
        for (const bool has_reader : {false, true})
          for (std::size_t at = 0; at < kPlaces; ++at) {
            SCOPED_TRACE(kind.name + ", " + std::to_string(at) +
                         (has_chain ? ", chain" : "") +
                         (has_reader ? ", reader" : ""));
            bad_ = &make(1);
            other_ = &make(1);
            auto& written = make(2);
            auto& sum = make(kPoison);
            auto& product = make(kPoison);
            auto& reader = make(kPoison);
            for (std::size_t k = 0; k < kPlaces; ++k) {
              if (k == at) {
                list_.add(recipe, kind.out(*this), {kind.in(*this)});
                if (has_reader) {
                  // A chain, of which one part is of others.
                  RequestOperand read = part(*bad_, 0, kSize);
                  read.owner = bad_;
                  list_.add(Recipe::Add, whole(reader), {read, 1.0}, kFresh);
                  list_.add(Recipe::Multiply, whole(reader),
                            {whole(reader), 2.0});
                }
              }
              if (k == 0)
                list_.add(Recipe::Add, whole(written), {whole(written), 5.0});
              if (k == 1)
                list_.add(Recipe::Add, whole(sum), {whole(*other_), 1.0},
                          kFresh);
              if (k == 2)
                list_.add(Recipe::Multiply, whole(product),
                          {has_chain ? whole(sum) : whole(*other_), 3.0},
                          kFresh);
            }
            EXPECT_THROW(run(), InvalidArgument);
            expect_all(written, 7);
            expect_all(sum, 2);
            expect_all(product, has_chain ? 6 : 3);
            expect_all(reader, kPoison);
            expect_all(*bad_, 1);
            list_.clear();
            arrays_.clear();
          }
  // The next run is not affected.
  auto& x = make(1);
  list_.add(Recipe::Add, whole(x), {whole(x), 1.0});
  run();
  expect_all(x, 2);
}

}  // namespace
}  // namespace gpuos
