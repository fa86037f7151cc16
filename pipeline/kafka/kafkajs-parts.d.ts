/** kafkajs describes what it exports, not its parts. Whoever uses one states what it takes it for. */
declare module 'kafkajs/src/*' {
  // biome-ignore lint/suspicious/noExplicitAny: not described
  const part: any;
  export default part;
}
