#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>

namespace gpuos {

/// Returns whether `text` contains `part`. An expectation of it shows the text.
inline testing::AssertionResult says(std::string_view text,
                                     std::string_view part) {
  return testing::AssertionResult(text.find(part) != text.npos)
         << "'" << text << "', the part: '" << part << "'";
}

/// Returns the message of the Error that `call` throws. "" means none.
template <typename Error = std::exception, typename Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace gpuos
