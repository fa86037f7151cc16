/** kafkajs has no types for its internal modules. Each import declares the type that it relies on. */
declare module 'kafkajs/src/*' {
  // biome-ignore lint/suspicious/noExplicitAny: untyped
  const part: any;
  export default part;
}
