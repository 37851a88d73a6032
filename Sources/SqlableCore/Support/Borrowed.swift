/// A value in memory that belongs to another owner, such as an array.
///
/// The type is not copyable, so calls use the value in place. An element of an array is copied for a call, because the
/// compiler must assume that the call can change the array. Each such copy retains every member.
///
/// To use the elements of a buffer in place, rebind the buffer to this type: a struct has the layout of its only
/// member.
@usableFromInline
struct Borrowed<Value>: ~Copyable {
  @usableFromInline let value: Value
}
