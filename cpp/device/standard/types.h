// NVRTC reads this for <type_traits>: types made of types. The questions about
// types are in standard/type_traits.h.
#pragma once

#if defined(__CUDACC_RTC__)

#include "task_abi.h"

namespace std {

template <typename T, T kValue>
struct integral_constant {
  using value_type = T;
  using type = integral_constant;
  static constexpr T value = kValue;
  GPUOS_DEVICE constexpr operator T() const noexcept { return kValue; }
  GPUOS_DEVICE constexpr T operator()() const noexcept { return kValue; }
};
template <bool kValue>
using bool_constant = integral_constant<bool, kValue>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool kIs, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
  using type = T;
};
template <bool kIs, typename T, typename Else>
struct conditional {
  using type = T;
};
template <typename T, typename Else>
struct conditional<false, T, Else> {
  using type = Else;
};
template <typename T>
struct type_identity {
  using type = T;
};
template <typename... T>
struct make_void {
  using type = void;
};
template <typename... T>
using void_t = typename make_void<T...>::type;

template <typename...>
struct conjunction : true_type {};
template <typename T>
struct conjunction<T> : T {};
template <typename T, typename... More>
struct conjunction<T, More...>
    : conditional<bool(T::value), conjunction<More...>, T>::type {};
template <typename...>
struct disjunction : false_type {};
template <typename T>
struct disjunction<T> : T {};
template <typename T, typename... More>
struct disjunction<T, More...>
    : conditional<bool(T::value), T, disjunction<More...>>::type {};
template <typename T>
struct negation : bool_constant<!bool(T::value)> {};

// name<pattern>::type is `made`. For any other T it is T.
#define GPUOS_MAKE(name, pattern, made) \
  template <typename T>                 \
  struct name : type_identity<T> {};    \
  template <typename T>                 \
  struct name<pattern> : type_identity<made> {};
#define GPUOS_MAKE_MORE(name, pattern, made) \
  template <typename T>                      \
  struct name<pattern> : type_identity<made> {};
GPUOS_MAKE(remove_const, const T, T)
GPUOS_MAKE(remove_volatile, volatile T, T)
GPUOS_MAKE(remove_reference, T&, T)
GPUOS_MAKE_MORE(remove_reference, T&&, T)
GPUOS_MAKE(remove_extent, T[], T)
GPUOS_MAKE(remove_pointer, T*, T)
GPUOS_MAKE_MORE(remove_pointer, T* const, T)
GPUOS_MAKE_MORE(remove_pointer, T* volatile, T)
GPUOS_MAKE_MORE(remove_pointer, T* const volatile, T)
#undef GPUOS_MAKE_MORE
#undef GPUOS_MAKE
template <typename T, decltype(sizeof(0)) kCount>
struct remove_extent<T[kCount]> : type_identity<T> {};
template <typename T>
struct remove_all_extents : type_identity<T> {};
template <typename T>
struct remove_all_extents<T[]> : remove_all_extents<T> {};
template <typename T, decltype(sizeof(0)) kCount>
struct remove_all_extents<T[kCount]> : remove_all_extents<T> {};
template <typename T>
struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <typename T>
struct remove_cvref : remove_cv<typename remove_reference<T>::type> {};

template <typename T>
struct add_const : type_identity<const T> {};
template <typename T>
struct add_volatile : type_identity<volatile T> {};
template <typename T>
struct add_cv : type_identity<const volatile T> {};
// A type without references, such as void, gives the type itself.
template <typename T, typename = void>
struct add_lvalue_reference : type_identity<T> {};
template <typename T>
struct add_lvalue_reference<T, void_t<T&>> : type_identity<T&> {};
template <typename T, typename = void>
struct add_rvalue_reference : type_identity<T> {};
template <typename T>
struct add_rvalue_reference<T, void_t<T&>> : type_identity<T&&> {};
template <typename T>
struct add_pointer : type_identity<typename remove_reference<T>::type*> {};

template <typename T>
GPUOS_DEVICE typename add_rvalue_reference<T>::type declval() noexcept;

template <typename T, bool = __is_enum(T)>
struct underlying_type {};
template <typename T>
struct underlying_type<T, true> : type_identity<__underlying_type(T)> {};

// The type of an argument that is passed by value.
template <typename T>
struct passed : remove_cv<T> {};
template <typename T>
struct passed<T[]> : type_identity<T*> {};
template <typename T, decltype(sizeof(0)) kCount>
struct passed<T[kCount]> : type_identity<T*> {};
template <typename Result, typename... Args>
struct passed<Result(Args...)> : type_identity<Result (*)(Args...)> {};
template <typename T>
struct decay : passed<typename remove_reference<T>::type> {};

template <typename... T>
struct common_type {};
template <typename T>
struct common_type<T> : decay<T> {};
template <typename T, typename U>
struct common_type<T, U>
    : decay<decltype(false ? declval<T>() : declval<U>())> {};
template <typename T, typename U, typename... More>
struct common_type<T, U, More...>
    : common_type<typename common_type<T, U>::type, More...> {};

template <typename F, typename... Args>
struct invoke_result
    : type_identity<decltype(declval<F>()(declval<Args>()...))> {};

// Integers of the same size with a sign and without.
template <unsigned long long kBytes>
struct integers_of;
template <>
struct integers_of<1> {
  using with_sign = signed char;
  using without = unsigned char;
};
template <>
struct integers_of<2> {
  using with_sign = short;
  using without = unsigned short;
};
template <>
struct integers_of<4> {
  using with_sign = int;
  using without = unsigned int;
};
template <>
struct integers_of<8> {
  using with_sign = long long;
  using without = unsigned long long;
};
template <typename T>
struct make_signed : type_identity<typename integers_of<sizeof(T)>::with_sign> {
};
template <typename T>
struct make_unsigned : type_identity<typename integers_of<sizeof(T)>::without> {
};
template <>
struct make_signed<long> : type_identity<long> {};
template <>
struct make_signed<unsigned long> : type_identity<long> {};
template <>
struct make_unsigned<long> : type_identity<unsigned long> {};
template <>
struct make_unsigned<unsigned long> : type_identity<unsigned long> {};

#define GPUOS_ALIAS(name) \
  template <typename T>   \
  using name##_t = typename name<T>::type;
GPUOS_ALIAS(remove_const)
GPUOS_ALIAS(remove_volatile)
GPUOS_ALIAS(remove_cv)
GPUOS_ALIAS(remove_reference)
GPUOS_ALIAS(remove_cvref)
GPUOS_ALIAS(remove_pointer)
GPUOS_ALIAS(remove_extent)
GPUOS_ALIAS(remove_all_extents)
GPUOS_ALIAS(add_const)
GPUOS_ALIAS(add_volatile)
GPUOS_ALIAS(add_cv)
GPUOS_ALIAS(add_lvalue_reference)
GPUOS_ALIAS(add_rvalue_reference)
GPUOS_ALIAS(add_pointer)
GPUOS_ALIAS(decay)
GPUOS_ALIAS(make_signed)
GPUOS_ALIAS(make_unsigned)
GPUOS_ALIAS(underlying_type)
GPUOS_ALIAS(type_identity)
#undef GPUOS_ALIAS
template <bool kIs, typename T = void>
using enable_if_t = typename enable_if<kIs, T>::type;
template <bool kIs, typename T, typename Else>
using conditional_t = typename conditional<kIs, T, Else>::type;
template <typename... T>
using common_type_t = typename common_type<T...>::type;
template <typename F, typename... Args>
using invoke_result_t = typename invoke_result<F, Args...>::type;

}  // namespace std

#endif
