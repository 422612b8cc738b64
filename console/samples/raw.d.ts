/** A file as it is, as a text: the bundler's `?raw`. */
declare module '*?raw' {
  const text: string;
  // The bundler gives it so, and not by a name.
  export default text;
}
