// NVRTC reads this for <type_traits>: questions about types, as far as its
// front end answers them.
#pragma once

#if defined(__CUDACC_RTC__)

#include "standard/types.h"

namespace std {

template <typename T, typename U>
struct is_same : false_type {};
template <typename T>
struct is_same<T, T> : true_type {};

// is_...<T> is true for types that match the pattern.
#define GPUOS_IS(name, pattern) \
  template <typename T>         \
  struct name : false_type {};  \
  template <typename T>         \
  struct name<pattern> : true_type {};
GPUOS_IS(is_const, const T)
GPUOS_IS(is_volatile, volatile T)
GPUOS_IS(is_lvalue_reference, T&)
GPUOS_IS(is_rvalue_reference, T&&)
GPUOS_IS(is_unbounded_array, T[])
#undef GPUOS_IS
template <typename T>
struct is_bounded_array : false_type {};
template <typename T, decltype(sizeof(0)) kCount>
struct is_bounded_array<T[kCount]> : true_type {};
template <typename T>
struct is_array : bool_constant<is_bounded_array<T>::value ||
                                is_unbounded_array<T>::value> {};
template <typename T>
struct is_reference : bool_constant<is_lvalue_reference<T>::value ||
                                    is_rvalue_reference<T>::value> {};
template <typename T>
struct is_pointer
    : bool_constant<!is_same<
          typename remove_cv<T>::type,
          typename remove_pointer<typename remove_cv<T>::type>::type>::value> {
};
template <typename T>
struct is_void : is_same<typename remove_cv<T>::type, void> {};
template <typename T>
struct is_null_pointer
    : is_same<typename remove_cv<T>::type, decltype(nullptr)> {};
// A function type cannot have const added.
template <typename T>
struct is_function
    : bool_constant<!is_const<const T>::value && !is_reference<T>::value> {};

template <typename T, typename... Types>
struct is_any_of : disjunction<is_same<typename remove_cv<T>::type, Types>...> {
};
template <typename T>
struct is_integral
    : is_any_of<T, bool, char, signed char, unsigned char, wchar_t, char16_t,
                char32_t, short, unsigned short, int, unsigned int, long,
                unsigned long, long long, unsigned long long> {};
template <typename T>
struct is_floating_point : is_any_of<T, float, double, long double> {};
template <typename T>
struct is_arithmetic
    : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <typename T>
struct is_fundamental
    : bool_constant<is_arithmetic<T>::value || is_void<T>::value ||
                    is_null_pointer<T>::value> {};

template <typename T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(T(-1) < T(0))> {};
template <typename T>
struct is_signed<T, false> : false_type {};
template <typename T, bool = is_arithmetic<T>::value>
struct is_unsigned : bool_constant<(T(0) < T(-1))> {};
template <typename T>
struct is_unsigned<T, false> : false_type {};

#define GPUOS_ASK(name, question) \
  template <typename T>           \
  struct name : bool_constant<question(T)> {};
GPUOS_ASK(is_enum, __is_enum)
GPUOS_ASK(is_class, __is_class)
GPUOS_ASK(is_union, __is_union)
GPUOS_ASK(is_empty, __is_empty)
GPUOS_ASK(is_final, __is_final)
GPUOS_ASK(is_polymorphic, __is_polymorphic)
GPUOS_ASK(is_abstract, __is_abstract)
GPUOS_ASK(is_trivial, __is_trivial)
GPUOS_ASK(is_trivially_copyable, __is_trivially_copyable)
GPUOS_ASK(is_standard_layout, __is_standard_layout)
GPUOS_ASK(is_aggregate, __is_aggregate)
GPUOS_ASK(is_trivially_destructible, __has_trivial_destructor)
#undef GPUOS_ASK
template <typename T>
struct is_object
    : bool_constant<!is_function<T>::value && !is_reference<T>::value &&
                    !is_void<T>::value> {};
template <typename T>
struct is_scalar
    : bool_constant<is_arithmetic<T>::value || __is_enum(T) ||
                    is_pointer<T>::value || is_null_pointer<T>::value> {};

template <typename T, typename U>
struct is_base_of : bool_constant<__is_base_of(T, U)> {};
template <typename T, typename U>
struct is_convertible : bool_constant<__is_convertible_to(T, U)> {};
template <typename T, typename U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <typename T, typename... Args>
struct is_constructible : bool_constant<__is_constructible(T, Args...)> {};
template <typename T>
struct is_default_constructible : is_constructible<T> {};
template <typename T>
struct is_copy_constructible
    : is_constructible<
          T, typename add_lvalue_reference<typename add_const<T>::type>::type> {
};
template <typename T>
struct is_move_constructible
    : is_constructible<T, typename add_rvalue_reference<T>::type> {};

template <typename Always, typename F, typename... Args>
struct can_be_called : false_type {};
template <typename F, typename... Args>
struct can_be_called<void_t<decltype(declval<F>()(declval<Args>()...))>, F,
                     Args...> : true_type {};
template <typename F, typename... Args>
struct is_invocable : can_be_called<void, F, Args...> {};

template <typename T>
struct alignment_of : integral_constant<decltype(sizeof(0)), alignof(T)> {};
template <typename T>
struct rank : integral_constant<decltype(sizeof(0)), 0> {};
template <typename T>
struct rank<T[]> : integral_constant<decltype(sizeof(0)), rank<T>::value + 1> {
};
template <typename T, decltype(sizeof(0)) kCount>
struct rank<T[kCount]>
    : integral_constant<decltype(sizeof(0)), rank<T>::value + 1> {};
template <typename T, unsigned kAxis = 0>
struct extent : integral_constant<decltype(sizeof(0)), 0> {};
template <typename T, unsigned kAxis>
struct extent<T[], kAxis> : extent<T, kAxis - 1> {};
template <typename T>
struct extent<T[], 0> : integral_constant<decltype(sizeof(0)), 0> {};
template <typename T, decltype(sizeof(0)) kCount, unsigned kAxis>
struct extent<T[kCount], kAxis> : extent<T, kAxis - 1> {};
template <typename T, decltype(sizeof(0)) kCount>
struct extent<T[kCount], 0> : integral_constant<decltype(sizeof(0)), kCount> {};

GPUOS_DEVICE constexpr bool is_constant_evaluated() noexcept {
  return __builtin_is_constant_evaluated();
}

// A variable template is a variable in the image only if its address is taken.
#if __cplusplus >= 201703L
#define GPUOS_VALUE(name)  \
  template <typename... T> \
  inline constexpr bool name##_v = name<T...>::value;
GPUOS_VALUE(is_same)
GPUOS_VALUE(is_const)
GPUOS_VALUE(is_volatile)
GPUOS_VALUE(is_lvalue_reference)
GPUOS_VALUE(is_rvalue_reference)
GPUOS_VALUE(is_unbounded_array)
GPUOS_VALUE(is_bounded_array)
GPUOS_VALUE(is_array)
GPUOS_VALUE(is_reference)
GPUOS_VALUE(is_pointer)
GPUOS_VALUE(is_void)
GPUOS_VALUE(is_null_pointer)
GPUOS_VALUE(is_function)
GPUOS_VALUE(is_integral)
GPUOS_VALUE(is_floating_point)
GPUOS_VALUE(is_arithmetic)
GPUOS_VALUE(is_fundamental)
GPUOS_VALUE(is_signed)
GPUOS_VALUE(is_unsigned)
GPUOS_VALUE(is_enum)
GPUOS_VALUE(is_class)
GPUOS_VALUE(is_union)
GPUOS_VALUE(is_empty)
GPUOS_VALUE(is_final)
GPUOS_VALUE(is_polymorphic)
GPUOS_VALUE(is_abstract)
GPUOS_VALUE(is_trivial)
GPUOS_VALUE(is_trivially_copyable)
GPUOS_VALUE(is_standard_layout)
GPUOS_VALUE(is_aggregate)
GPUOS_VALUE(is_trivially_destructible)
GPUOS_VALUE(is_object)
GPUOS_VALUE(is_scalar)
GPUOS_VALUE(is_base_of)
GPUOS_VALUE(is_convertible)
GPUOS_VALUE(is_assignable)
GPUOS_VALUE(is_constructible)
GPUOS_VALUE(is_default_constructible)
GPUOS_VALUE(is_copy_constructible)
GPUOS_VALUE(is_move_constructible)
GPUOS_VALUE(is_invocable)
GPUOS_VALUE(conjunction)
GPUOS_VALUE(disjunction)
GPUOS_VALUE(negation)
#undef GPUOS_VALUE
template <typename T>
inline constexpr decltype(sizeof(0)) alignment_of_v = alignof(T);
template <typename T>
inline constexpr decltype(sizeof(0)) rank_v = rank<T>::value;
template <typename T, unsigned kAxis = 0>
inline constexpr decltype(sizeof(0)) extent_v = extent<T, kAxis>::value;
#endif

}  // namespace std

#endif
