#include "session/cells/classify.h"

#include <utility>

#include "base/concat.h"
#include "session/cells/functions.h"
#include "session/cells/statements.h"

namespace gpuos::session {
namespace {

class Classifier {
 public:
  Classifier(const TokenList& tokens, const Shape& shape,
             const std::vector<std::string>& scopes, const KindOf& kind_of)
      : tokens_(tokens), shape_(shape), scopes_(scopes), kind_of_(kind_of) {}

  std::vector<Item> run() {
    if (shape_.launch != 0) return {launch()};
    refuse_words_of_classes();
    // Code that needs an instance makes it.
    if (tokens_.is(shape_.begin, "extern") &&
        tokens_.is(shape_.begin + 1, "template"))
      return {};
    if (tokens_.is(shape_.begin, "using")) return using_declarations();
    if (tokens_.is(shape_.start, "using"))
      return {named_header("t:", shape_.start + 1)};
    if (tokens_.is(shape_.begin, "namespace")) return {namespace_alias()};
    if (shape_.is_class()) return class_and_friends();
    if (tokens_.is(shape_.start, "typedef")) return {type_definition()};
    if (tokens_.is(shape_.start, "static_assert")) return {header_item("")};
    if (tokens_.is(shape_.start, "concept"))
      return {named_header("c:", shape_.start + 1)};
    if (shape_.body != 0) return {function_definition()};
    if (is_deduction_guide(tokens_, shape_.start)) return {deduction_guide()};
    if (shape_.is_template) return {template_declaration()};
    if (shape_.parameters != 0 && !makes_variable()) {
      if (shape_.initializer != 0)
        tokens_.fail(shape_.initializer,
                     concat("expected ';' after the parameters of a function, "
                            "got '",
                            tokens_[shape_.initializer].text, "'"));
      return {function_declaration()};
    }
    if (is_structured_binding(tokens_, shape_))
      return structured_binding(tokens_, shape_, scopes_);
    return variables(tokens_, shape_, scopes_);
  }

 private:
  // Refuses these words here, because no compiler reads a declaration until a
  // cell uses it.
  void refuse_words_of_classes() const {
    for (std::size_t i = shape_.start;
         i < shape_.end && begins_declaration(tokens_[i].text); ++i) {
      if (tokens_.is_any(i, "friend virtual explicit mutable"))
        tokens_.fail(i, concat("expected ", tokens_[i].text,
                               " in a class, got it outside"));
    }
  }

  bool has(std::string_view words, std::size_t end) const {
    return tokens_.has_any(shape_.start, end, words);
  }

  Item make(ItemKind kind) const {
    const Token& first = tokens_[shape_.begin];
    Item item;
    item.kind = kind;
    item.text = tokens_.text(shape_.begin, shape_.end);
    item.line = first.line;
    item.column = first.column;
    item.scopes = scopes_;
    return item;
  }

  std::string key(std::string_view prefix, std::string_view rest) const {
    return concat(prefix, qualifier_of(scopes_), rest);
  }

  Item launch() const {
    if (!scopes_.empty())
      tokens_.fail(shape_.launch,
                   "expected a launch outside of namespaces, got it inside");
    return make(ItemKind::Launch);
  }

  Item header_item(std::string_view key_prefix) const {
    Item item = make(ItemKind::Header);
    item.is_shared = true;
    item.header = item.text;
    item.key = key(concat(key_prefix, "text:"),
                   tokens_.plain(shape_.begin, shape_.end));
    return item;
  }

  Item named_header(std::string_view prefix, std::size_t name_at) const {
    Item item = make(ItemKind::Header);
    item.is_shared = true;
    item.header = item.text;
    item.name = tokens_[name_at].text;
    item.names.insert(item.name);
    item.declares.insert(item.name);
    item.key = key(prefix, item.name);
    return item;
  }

  std::string joined(std::size_t begin, std::size_t end) const {
    std::string text = tokens_.plain(begin, end);
    std::erase(text, ' ');
    return text;
  }

  // Returns the item for "namespace b = a::c;".
  Item namespace_alias() const {
    const std::size_t at = shape_.begin + 1;
    if (!tokens_.is_identifier(at) || !tokens_.is(at + 1, "="))
      tokens_.fail(shape_.begin,
                   concat("expected a namespace, got '",
                          tokens_.plain(at - 1, shape_.end), "'"));
    Item item = named_header("n:", at);
    item.opens = joined(at + 2, shape_.end - 1);
    return item;
  }

  std::vector<Item> using_declarations() const {
    const std::size_t at = shape_.begin + 1;
    if (tokens_.is(at, "namespace")) {
      Item item = header_item("");
      item.is_always = true;
      item.opens = joined(at + 1, shape_.end - 1);
      return {item};
    }
    if (tokens_.is(at, "enum")) {
      Item item = header_item("");
      item.is_always = true;  // code that uses an enumerator does not name its
                              // enum
      return {item};
    }
    if (tokens_.is(at + 1, "=")) return {named_header("t:", at)};
    std::vector<Item> items;
    std::size_t begin = at;
    const auto add = [&](std::size_t end) {
      Item item = named_header("u:", end - 1);
      item.header = concat("using ", tokens_.text(begin, end), ";");
      items.push_back(std::move(item));
      begin = end + 1;
    };
    for (const std::size_t comma : shape_.commas) add(comma);
    add(shape_.end - 1);
    return items;
  }

  // Returns the item for "typedef int T, (*F)(int);".
  Item type_definition() const {
    Item item;
    std::vector<std::size_t> ends = shape_.commas;
    ends.push_back(shape_.end - 1);
    std::size_t begin = shape_.start;
    for (const std::size_t end : ends) {
      const std::size_t name_at = name_of_type(begin, end);
      if (begin == shape_.start) item = named_header("t:", name_at);
      begin = end + 1;
      item.names.emplace(tokens_[name_at].text);
      item.declares.emplace(tokens_[name_at].text);
    }
    return item;
  }

  // Returns the name in the part of a typedef from `begin` to `end`.
  std::size_t name_of_type(std::size_t begin, std::size_t end) const {
    std::size_t group = shape_.group;
    if (begin != shape_.start) group = behind_marks(tokens_, begin);
    std::size_t name_at = end - 1;
    if (group != 0 && group < end && tokens_.is(group, "("))
      name_at = tokens_.behind(group) - 2;
    while (tokens_.is_any(name_at, "] )"))
      name_at = tokens_.behind(name_at) - 2;
    while (name_at > shape_.start && !tokens_.is_identifier(name_at)) --name_at;
    return name_at;
  }

  Item class_definition() const {
    const std::size_t end =
        shape_.class_body != 0 ? shape_.class_body : shape_.end - 1;
    Item item = header_item("");
    if (const std::size_t at = find_class_name(tokens_, shape_); at != 0) {
      item.name = tokens_[at].text;
      item.is_member = tokens_.is(at + 1, "<");
      // The loop reads the qualifiers of "struct A::B { ... };".
      for (std::size_t i = at; i > 1 && tokens_.is(i - 1, "::"); i -= 2) {
        item.is_member = true;
        item.names.emplace(tokens_[i - 2].text);
      }
    }
    const bool is_enum = tokens_.is(shape_.class_key, "enum");
    if (is_enum) {
      add_names(item, end, shape_.end);
      if (!is_keyword_enum()) add_enumerators(item);
    }
    if (item.name.empty() && tokens_.is(shape_.class_key, "union"))
      tokens_.fail(shape_.class_key,
                   "expected a name for the members of this union, got none; "
                   "write union { ... } u; and use u.member");
    if (!item.name.empty()) {
      item.names.insert(item.name);
      if (!tokens_.is(find_class_name(tokens_, shape_) - 1, "::"))
        item.declares.insert(item.name);
      std::size_t head = end;
      for (std::size_t i = shape_.class_key; i < end; ++i) {
        if (tokens_.is(i, ":")) head = i;
      }
      // A specialisation and its template are two items.
      item.key = key(shape_.class_body != 0 ? "t:"
                     : is_instantiation()   ? "instance:"
                                            : "forward:",
                     tokens_.plain(shape_.class_key + 1, head));
    }
    return item;
  }

  // Returns the class and its friends. "friend class P;" declares P here, so
  // that another cell can define it.
  std::vector<Item> class_and_friends() const {
    std::vector<Item> items;
    Item item = class_definition();
    const std::size_t close =
        shape_.class_body != 0 ? tokens_.behind(shape_.class_body) - 1 : 0;
    std::size_t head = 0;  // begin of "template <class T> friend"
    std::size_t moved = 0;
    for (std::size_t i = shape_.class_body + 1; i < close; ++i) {
      if (tokens_.is(i, "template") && tokens_.is(i + 1, "<")) {
        const std::size_t behind = tokens_.behind_angles(i + 1);
        if (tokens_.is(behind, "friend")) head = i;
      }
      if (!tokens_.is(i, "friend")) continue;
      const std::string before =
          head != 0 ? tokens_.plain(std::exchange(head, 0), i) : "";
      const Shape shape = find_shape(tokens_, i + 1, close);
      const bool is_plain_class = shape.is_class() && tokens_.is(i + 3, ";");
      if (is_plain_class) {
        Item forward = named_header("forward:", i + 2);
        forward.text = concat(before, " ", tokens_.plain(i + 1, shape.end));
        forward.header = forward.text;
        items.push_back(std::move(forward));
        // The friend is not a class of the class's own namespace.
        const std::size_t at = offset_of(i + 2) + moved;
        const std::string outer = concat("::", qualifier_of(scopes_));
        item.text.insert(at, outer);
        moved += outer.size();
      } else if (shape.parameters != 0 && shape.body == 0) {
        item.befriends.insert(
            key("f:", concat(before, function_name(tokens_, shape).text,
                             parameter_key(tokens_, shape.parameters))));
      }
    }
    item.header = item.text;
    items.push_back(std::move(item));
    return items;
  }

  // Returns whether the text is "enum class".
  bool is_keyword_enum() const {
    return tokens_.is_any(shape_.class_key + 1, "class struct");
  }

  void add_enumerators(Item& item) const {
    if (shape_.class_body == 0) return;
    const std::size_t close = tokens_.behind(shape_.class_body) - 1;
    bool is_first = true;  // first token of "name = value"
    for (std::size_t i = shape_.class_body + 1; i < close;) {
      if (is_first && tokens_.is_identifier(i))
        item.declares.emplace(tokens_[i].text);
      is_first = tokens_.is(i, ",");
      i = tokens_.next(i);
    }
  }

  void add_names(Item& item, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_.is_identifier(i) && !is_keyword(tokens_[i].text))
        item.names.emplace(tokens_[i].text);
    }
  }

  // Returns the text that distinguishes templates with equal parameters:
  // "enable_if_t<...> f(T)" and "f(T) requires A<T>".
  std::string condition_of(const FunctionName& name) const {
    if (!shape_.is_template && !takes_auto()) return "";
    const auto conditional = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (tokens_[i].text.starts_with("enable_if") ||
            tokens_.is_any(i, "requires decltype"))
          return tokens_.plain(begin, end);
      }
      return std::string();
    };
    const std::size_t end = shape_.body != 0 ? shape_.body : shape_.end - 1;
    return conditional(shape_.start, name.begin) +
           conditional(tokens_.behind(shape_.parameters), end);
  }

  // Returns the "const" and "&&" of a member, which distinguish overloads.
  std::string qualifiers() const {
    std::size_t i = tokens_.behind(shape_.parameters);
    const std::size_t begin = i;
    while (tokens_.is_any(i, "const volatile &")) ++i;
    return tokens_.plain(begin, i);
  }

  // Returns an item with the names, the key and the result of a function.
  Item function(ItemKind kind) const {
    Item item = make(kind);
    const FunctionName name = function_name(tokens_, shape_);
    item.name = name.text;
    item.is_operator = name.is_operator;
    item.is_member =
        name.is_qualified || is_specialisation() || is_instantiation();
    if (!name.is_operator) add_names(item, name.begin, shape_.parameters);
    if (!name.is_operator && !item.is_member) item.declares.insert(item.name);
    // An operator comes with its parameter types, and a member comes with its
    // class.
    if (name.is_operator) {
      for (const std::string& type :
           parameter_types(tokens_, shape_.parameters))
        item.names.merge(identifiers_of(type));
      item.names.merge(identifiers_of(name.text));  // identifiers of ""_km
    }
    std::string head;
    if (shape_.is_template) head = tokens_.plain(shape_.begin, shape_.start);
    item.key = key(
        "f:", concat(head, item.name, parameter_key(tokens_, shape_.parameters),
                     qualifiers(), condition_of(name)));
    if (kind == ItemKind::Header) return item;
    item.result = tokens_.plain(shape_.start, name.begin);
    if (has_default_argument(tokens_, shape_.parameters))
      item.defaults =
          tokens_.plain(shape_.parameters, tokens_.behind(shape_.parameters));
    return item;
  }

  Item function_definition() const {
    const std::size_t end = shape_.parameters;
    const bool is_kernel = has("__global__", end);
    const bool is_device = has("__device__", end);
    const bool is_inline =
        is_device && has("inline __forceinline__ __inline__ static", end);
    const bool is_template = shape_.is_template || takes_auto();
    const bool is_deduced = !is_kernel && has_deduced_result();
    const bool is_deleted = tokens_.is(shape_.body + 1, "delete");
    if (is_template || is_inline || is_deduced || is_deleted ||
        has("constexpr consteval", end)) {
      Item item = function(ItemKind::Header);
      item.header = item.text;
      item.is_shared = !is_kernel && (!is_device || has("__host__", end));
      // Each object file has its own specialisation, so it must be inline.
      if (is_specialisation() &&
          !has("inline static constexpr __forceinline__ __inline__", end))
        item.header.insert(offset_of(shape_.start), "inline ");
      // Callers need the body to know the result's type, so each object file
      // has the body.
      if (is_deduced && !is_template &&
          !has("inline __inline__ __forceinline__", end))
        item.prefix = "inline";
      return item;
    }
    if (!is_kernel && !is_device) {
      Item item = host_function();
      return launches_only(item) ? item : host_function();
    }
    refuse_static_locals(tokens_, shape_.body);
    Item item = function(is_kernel ? ItemKind::Kernel : ItemKind::Function);
    if (is_kernel) make_external(item);
    // The class declares a member. A namespace declares other qualified
    // functions.
    if (!function_name(tokens_, shape_).is_qualified)
      item.header = item.text.substr(0, offset_of(shape_.body)) + ";";
    return item;
  }

  // Returns whether the function is "f(auto x)", which is a template without
  // the word.
  bool takes_auto() const {
    const std::size_t close = tokens_.behind(shape_.parameters);
    return tokens_.has_any(shape_.parameters, close, "auto");
  }

  // Returns whether the result is deduced: "auto f()", "decltype(auto) f()" or
  // "auto* f()". This excludes "-> float" after the parameters.
  bool has_deduced_result() const {
    const std::size_t name = function_name(tokens_, shape_).begin;
    return tokens_.has_any(shape_.start, name, "auto") &&
           !tokens_.has_any(tokens_.behind(shape_.parameters), shape_.body,
                            "->");
  }

  std::size_t offset_of(std::size_t i) const {
    return tokens_[i].offset - tokens_[shape_.begin].offset;
  }

  // Removes "static" and "inline", which change nothing for a kernel in one
  // session.
  void make_external(Item& item) const { blank(item.text, "static inline"); }

  // Replaces these words before a function's parameters in its text.
  void blank(std::string& text, std::string_view words) const {
    for (std::size_t i = shape_.start; i < shape_.parameters; ++i) {
      const std::size_t size = tokens_[i].text.size();
      if (tokens_.is_any(i, words)) text.replace(offset_of(i), size, size, ' ');
    }
  }

  // Returns whether the text is "template <> f<int>()".
  bool is_specialisation() const {
    return shape_.is_template && tokens_.is(shape_.start - 2, "<");
  }

  Item host_function() const {
    Item item = function(ItemKind::HostFunction);
    if (!item.is_member)
      item.header = item.text.substr(0, offset_of(shape_.body)) + ";";
    // The compiler lets only main() end without a return. A session's main() is
    // another function for the compiler.
    const bool returns_int = item.header.find("int") != item.header.npos;
    if (item.name == "main" && returns_int && scopes_.empty())
      item.text.insert(item.text.rfind('}'), " return 0; ");
    return item;
  }

  // Returns whether the function only launches kernels and calls others that
  // do. Such a function needs no compiler.
  bool launches_only(Item& item) const {
    if (item.is_member || !scopes_.empty() ||
        tokens_.behind(shape_.parameters) != shape_.parameters + 2)
      return false;
    if (!tokens_.is(shape_.body, "{")) return false;  // "try"
    const std::size_t close = tokens_.behind(shape_.body) - 1;
    for (std::size_t i = shape_.body + 1; i < close;) {
      if (is_statement(tokens_, i, kind_of_)) return false;
      const Shape inner = find_shape(tokens_, i, close);
      const bool is_call = tokens_.is_identifier(i) &&
                           inner.parameters == i + 1 &&
                           inner.end == inner.parameters + 3;
      if (inner.launch == 0 && !is_call) return false;
      for (Item& statement : classify(tokens_, inner, {}, kind_of_))
        item.statements.push_back(std::move(statement));
      i = inner.end;
    }
    item.kind = ItemKind::Launches;
    return true;
  }

  // Returns whether the text is "T x(3);" or "T x(3), y;", but not "T f(int);".
  bool makes_variable() const {
    const std::size_t open = shape_.parameters;
    const std::size_t behind = tokens_.behind(open);
    const bool is_function = open <= shape_.start + 1 ||
                             tokens_.is(open - 2, "void") ||
                             has("__global__ operator extern", open);
    if (is_function || (behind != shape_.end - 1 && !tokens_.is(behind, ",")))
      return false;
    if (!has("__device__ __constant__", open))
      return holds_arguments(tokens_, open, kind_of_);
    // The host's compiler does not know these names.
    return holds_arguments(tokens_, open, [this](std::string_view name, bool) {
      const NameKind kind = kind_of_(name, false);
      return kind == NameKind::Unknown ? NameKind::Type : kind;
    });
  }

  // Returns whether the text is "template int f<int>(int);" or "template struct
  // S<int>;".
  bool is_instantiation() const {
    return shape_.is_template && tokens_.is(shape_.start - 1, "template");
  }

  Item template_declaration() const {
    if (shape_.parameters != 0) {
      Item item = function(ItemKind::Header);
      item.key =
          concat(is_instantiation() ? "instance:" : "declared:", item.key);
      item.header = item.text;
      item.is_shared = !has("__global__", shape_.parameters) &&
                       (!has("__device__", shape_.parameters) ||
                        has("__host__", shape_.parameters));
      return item;
    }
    Item item = header_item("");
    const std::size_t end =
        shape_.initializer != 0 ? shape_.initializer : shape_.end - 1;
    add_names(item, shape_.start, end);
    // A specialisation, "a<int>", and a class's member, "P<T>::a", declare no
    // new name.
    item.is_member = is_specialisation() || tokens_.is(end - 2, "::");
    if (item.is_member || !tokens_.is_identifier(end - 1)) return item;
    item.name = tokens_[end - 1].text;
    item.declares.insert(item.name);
    item.key = key("v:template ", item.name);
    return item;
  }

  Item deduction_guide() const {
    Item item = header_item("");
    item.name = tokens_[shape_.start].text;
    item.names.insert(item.name);
    item.is_member = true;
    item.key = key("guide:", tokens_.plain(shape_.begin, shape_.end));
    return item;
  }

  Item function_declaration() const {
    const std::size_t open = shape_.parameters;
    if (open == shape_.begin + 1 && shape_.end == open + 3) {
      Item item = make(ItemKind::Call);
      item.name = tokens_[shape_.begin].text;
      return item;
    }
    const bool is_device = has("__device__ __global__", open);
    // Declarations of this kind are text for later cells, like a template.
    if (has("constexpr consteval", open) ||
        (is_device && has("inline __forceinline__ __inline__", open))) {
      Item item = function(ItemKind::Header);
      item.key = concat("declared:", item.key);
      item.header = item.text;
      // Until a definition follows, callers leave the function to the linker.
      if (is_device)
        blank(item.header,
              "constexpr inline static __forceinline__ __inline__");
      item.is_shared = !is_device || has("__host__", open);
      return item;
    }
    if (!is_device) {
      Item item = function(ItemKind::HostDeclaration);
      if (!tokens_.is(shape_.begin, "extern")) make_external(item);
      item.header = item.text;
      return item;
    }
    Item item = function(ItemKind::Declaration);
    item.header = item.text;
    return item;
  }

  const TokenList& tokens_;
  const Shape& shape_;
  const std::vector<std::string>& scopes_;
  const KindOf& kind_of_;
};

}  // namespace

std::vector<Item> classify(const TokenList& tokens, const Shape& shape,
                           const std::vector<std::string>& scopes,
                           const KindOf& kind_of) {
  return Classifier(tokens, shape, scopes, kind_of).run();
}

}  // namespace gpuos::session
