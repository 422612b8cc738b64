/** The text of a file, by the bundler's `?raw`. */
declare module '*?raw' {
  const text: string;
  // The bundler offers no other name.
  export default text;
}

/** Styles that the bundler loads with the module that imports them. */
declare module '*.css';
