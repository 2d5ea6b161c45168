/** A language's catalogue, made by scripts/texts/vite.ts. */
declare module 'virtual:texts/*' {
  import type { CompiledElement } from 'wuchale'
  export const c: CompiledElement[]
  export const p: (n: number) => number
}
/** The server's sentences and their German. */
declare module 'virtual:server-texts' {
  export const pairs: readonly (readonly [english: string, german: string])[]
}
