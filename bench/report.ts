/** The output of a benchmark. It never fails a run: people judge the figures of a busy machine. */
export type Report = {
  /** One line of raw figures. */
  figure: (text: string) => void;
  /** One figure with its bound. */
  bound: (bound: Bound) => void;
};

/** `atMost` and `atLeast` include the bound itself; `unit` follows both numbers. */
export type Bound = { name: string; value: number; unit: string } & ({ atMost: number } | { atLeast: number });

/** Creates a report that writes lines. */
export function createReport(write: (line: string) => void): Report {
  return {
    figure: (text) => write(`  ${text}`),
    bound(bound) {
      const [words, limit, holds] =
        'atMost' in bound
          ? (['at most', bound.atMost, bound.value <= bound.atMost] as const)
          : (['at least', bound.atLeast, bound.value >= bound.atLeast] as const);
      write(
        `${holds ? '  holds  ' : '  MISSED '} ${bound.name}: ${readable(bound.value)}${bound.unit}, ${words} ` +
          `${readable(limit)}${bound.unit}`,
      );
    },
  };
}

/** Formats three significant digits below 1,000, and whole numbers above. */
export function readable(value: number): string {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
