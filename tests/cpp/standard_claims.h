// Claims about the standard headers of the host's compiler and those that NVRTC
// finds in gpuos. Both compile this text.
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace claims {

#define GPUOS_CLAIM(...) static_assert(__VA_ARGS__, #__VA_ARGS__)
#define GPUOS_SAME(...) GPUOS_CLAIM(std::is_same<__VA_ARGS__>::value)

enum class Small : short { kOne };
struct Base {};
struct Final final : Base {
  int value;
};
union Either {
  int whole;
  float real;
};

// <cstdint>, <cstddef>, <climits>
GPUOS_CLAIM(sizeof(std::int8_t) == 1 && sizeof(uint16_t) == 2);
GPUOS_CLAIM(sizeof(std::int_least32_t) == 4 && sizeof(std::intmax_t) == 8);
GPUOS_CLAIM(sizeof(std::size_t) == sizeof(std::uintptr_t));
GPUOS_SAME(std::nullptr_t, decltype(nullptr));
GPUOS_CLAIM(sizeof(std::ptrdiff_t) == 8 && std::ptrdiff_t(-1) < 0);
GPUOS_CLAIM(INT8_MIN == -128 && UINT16_MAX == 65535);
GPUOS_CLAIM(INT32_MAX == INT_MAX && UINT32_MAX == UINT_MAX);
GPUOS_CLAIM(INT64_MIN < 0 && INT64_MIN + INT64_MAX == -1);
GPUOS_CLAIM(UINT64_MAX == ULLONG_MAX && SIZE_MAX == UINT64_MAX);
GPUOS_CLAIM(CHAR_BIT == 8 && CHAR_MIN == -128 && SHRT_MAX == 32767);

// <limits>, <cfloat>
template <typename T>
using Limits = std::numeric_limits<T>;
GPUOS_CLAIM(Limits<float>::max() == FLT_MAX && Limits<float>::min() == FLT_MIN);
GPUOS_CLAIM(Limits<double>::max() == DBL_MAX);
GPUOS_CLAIM(Limits<double>::epsilon() == DBL_EPSILON);
GPUOS_CLAIM(Limits<float>::lowest() == -FLT_MAX);
GPUOS_CLAIM(Limits<float>::infinity() > FLT_MAX);
GPUOS_CLAIM(Limits<float>::quiet_NaN() != Limits<float>::quiet_NaN());
GPUOS_CLAIM(Limits<float>::denorm_min() > 0);
GPUOS_CLAIM(Limits<float>::digits == FLT_MANT_DIG);
GPUOS_CLAIM(Limits<float>::digits10 == FLT_DIG);
GPUOS_CLAIM(Limits<float>::max_digits10 == 9);
GPUOS_CLAIM(Limits<double>::digits10 == DBL_DIG);
GPUOS_CLAIM(Limits<double>::max_digits10 == 17);
GPUOS_CLAIM(Limits<float>::min_exponent == FLT_MIN_EXP);
GPUOS_CLAIM(Limits<float>::max_exponent10 == FLT_MAX_10_EXP);
GPUOS_CLAIM(Limits<double>::min_exponent10 == DBL_MIN_10_EXP);
GPUOS_CLAIM(Limits<double>::max_exponent == DBL_MAX_EXP);
GPUOS_CLAIM(Limits<int>::min() == INT_MIN && Limits<int>::max() == INT_MAX);
GPUOS_CLAIM(Limits<long>::max() == LONG_MAX && Limits<char>::min() == CHAR_MIN);
GPUOS_CLAIM(Limits<unsigned long long>::max() == ULLONG_MAX);
GPUOS_CLAIM(Limits<signed char>::digits10 == 2 && Limits<short>::digits10 == 4);
GPUOS_CLAIM(Limits<int>::digits10 == 9 && Limits<long long>::digits10 == 18);
GPUOS_CLAIM(Limits<unsigned long long>::digits10 == 19);
GPUOS_CLAIM(Limits<unsigned>::is_modulo&& Limits<int>::is_signed);
GPUOS_CLAIM(Limits<bool>::max() && !Limits<bool>::min());
GPUOS_CLAIM(Limits<bool>::digits == 1 && !Limits<bool>::is_signed);
GPUOS_CLAIM(Limits<const float>::has_infinity&& Limits<float>::is_iec559);
GPUOS_CLAIM(!Limits<Base>::is_specialized && Limits<wchar_t>::is_integer);
GPUOS_CLAIM(Limits<float>::round_error() == 0.5f);

// <type_traits>, types
GPUOS_SAME(std::remove_cv<const volatile int>::type, int);
GPUOS_SAME(std::remove_pointer<int* const>::type, int);
GPUOS_SAME(std::remove_reference<int&&>::type, int);
GPUOS_SAME(std::remove_extent<int[3][2]>::type, int[2]);
GPUOS_SAME(std::remove_all_extents<int[3][2]>::type, int);
GPUOS_SAME(std::add_pointer<int&>::type, int*);
GPUOS_SAME(std::add_lvalue_reference<void>::type, void);
GPUOS_SAME(std::add_lvalue_reference<int&&>::type, int&);
GPUOS_SAME(std::add_rvalue_reference<int>::type, int&&);
GPUOS_SAME(std::add_const<int>::type, const int);
GPUOS_SAME(std::decay<const int&>::type, int);
GPUOS_SAME(std::decay<int (&)[3]>::type, int*);
GPUOS_SAME(std::decay<void(int)>::type, void (*)(int));
GPUOS_SAME(std::common_type<int, float, double>::type, double);
GPUOS_SAME(std::make_unsigned<long>::type, unsigned long);
GPUOS_SAME(std::make_signed<unsigned char>::type, signed char);
GPUOS_SAME(std::underlying_type<Small>::type, short);
GPUOS_SAME(std::conditional<true, int, float>::type, int);
GPUOS_SAME(std::enable_if<true, int>::type, int);
GPUOS_CLAIM(std::integral_constant<int, 3>::value == 3 && std::true_type());

// <type_traits>, questions
GPUOS_CLAIM(!std::is_same<int, const int>::value);
GPUOS_CLAIM(std::is_void<const void>::value);
GPUOS_CLAIM(std::is_pointer<void* const>::value);
GPUOS_CLAIM(!std::is_pointer<const int>::value);
GPUOS_CLAIM(std::is_integral<const unsigned long>::value);
GPUOS_CLAIM(!std::is_integral<float>::value);
GPUOS_CLAIM(std::is_floating_point<const double>::value);
GPUOS_CLAIM(std::is_arithmetic<bool>::value);
GPUOS_CLAIM(std::is_signed<float>::value && !std::is_signed<Base>::value);
GPUOS_CLAIM(std::is_unsigned<bool>::value && !std::is_unsigned<int*>::value);
GPUOS_CLAIM(std::is_enum<Small>::value&& std::is_scalar<Small>::value);
GPUOS_CLAIM(std::is_class<Base>::value&& std::is_union<Either>::value);
GPUOS_CLAIM(std::is_empty<Base>::value && !std::is_empty<Final>::value);
GPUOS_CLAIM(std::is_base_of<Base, Final>::value);
GPUOS_CLAIM(std::is_convertible<int, float>::value);
GPUOS_CLAIM(!std::is_convertible<Base, int>::value);
GPUOS_CLAIM(std::is_constructible<float, int>::value);
GPUOS_CLAIM(std::is_assignable<int&, float>::value);
GPUOS_CLAIM(!std::is_assignable<int, float>::value);
GPUOS_CLAIM(std::is_copy_constructible<Base>::value);
GPUOS_CLAIM(std::is_trivially_copyable<Final>::value);
GPUOS_CLAIM(std::is_trivially_destructible<Final>::value);
GPUOS_CLAIM(std::is_standard_layout<Final>::value);
GPUOS_CLAIM(std::is_array<int[2]>::value && !std::is_array<int*>::value);
GPUOS_CLAIM(std::is_reference<int&&>::value && !std::is_reference<int>::value);
GPUOS_CLAIM(std::is_function<void(int)>::value);
GPUOS_CLAIM(!std::is_function<int&>::value && !std::is_object<int&>::value);
GPUOS_CLAIM(std::is_const<const int>::value && !std::is_const<int>::value);
GPUOS_CLAIM(std::rank<int[2][3]>::value == 2);
GPUOS_CLAIM(std::extent<int[2][3], 1>::value == 3);
GPUOS_CLAIM(std::alignment_of<double>::value == alignof(double));
#if __cplusplus >= 201402L
GPUOS_SAME(std::decay_t<int&>, std::remove_const_t<const int>);
GPUOS_SAME(std::enable_if_t<true>, void);
#endif
#if __cplusplus >= 201703L
GPUOS_CLAIM(std::is_same_v<std::void_t<int>, void>);
GPUOS_CLAIM(std::conjunction_v<std::true_type, std::is_same<int, int>>);
GPUOS_CLAIM(!std::conjunction_v<std::true_type, std::false_type>);
GPUOS_CLAIM(std::disjunction_v<std::false_type, std::true_type>);
GPUOS_CLAIM(std::negation_v<std::false_type>);
GPUOS_CLAIM(std::is_invocable_v<int (*)(float), float>);
GPUOS_CLAIM(!std::is_invocable_v<int (*)(float), Base>);
GPUOS_SAME(std::invoke_result_t<int (*)(float), float>, int);
#endif
#if __cplusplus >= 202002L
GPUOS_SAME(std::remove_cvref_t<const int&>, std::type_identity_t<int>);
GPUOS_CLAIM(std::is_bounded_array_v<int[2]>&& std::is_unbounded_array_v<int[]>);
#endif

// <cmath>
GPUOS_SAME(decltype(std::sin(1.0f)), float);
GPUOS_SAME(decltype(std::sqrt(4)), double);
GPUOS_SAME(decltype(std::floor(3u)), double);
GPUOS_SAME(decltype(std::pow(2.0, 2)), double);
GPUOS_SAME(decltype(std::abs(-1.0f)), float);
GPUOS_SAME(decltype(std::abs(-1)), int);
GPUOS_SAME(decltype(std::fma(1.0f, 2.0f, 3.0f)), float);
GPUOS_SAME(decltype(std::hypot(1.0, 2.0)), double);
GPUOS_SAME(std::float_t, float);
GPUOS_CLAIM(INFINITY > FLT_MAX && NAN != NAN && HUGE_VAL > DBL_MAX);
GPUOS_CLAIM(M_PI > 3.14159265358979 && M_PI < 3.1415926535898);
GPUOS_CLAIM(M_SQRT2* M_SQRT1_2 > 0.9999 && 2 * M_PI_4 == M_PI_2);
GPUOS_SAME(decltype(INFINITY), float);
GPUOS_SAME(decltype(M_PI), double);

}  // namespace claims
