/** A word of a shell command, its quotes taken away. */
export interface Word {
  /** Parameters stay as they are written: `$HOME/x`. Command substitutions are left out. */
  readonly text: string
  /** The commands of `$(…)`, backquotes, `<(…)` and `>(…)` in it. */
  readonly inner: readonly Command[]
}

/** A redirection: `> file`, or a here-document. */
export interface Redirect {
  readonly op: string
  readonly target: Word
  /** Of `<<` and `<<<`: what the command reads, and the line where that begins. */
  readonly body?: { readonly text: string; readonly line: number }
}

/** A simple command. */
export interface Command {
  readonly line: number
  readonly words: readonly Word[]
  readonly redirects: readonly Redirect[]
  /** What is piped into it; of a group, all its commands. */
  readonly from: readonly Command[]
  /** Its pipeline up to its own end, as it is written. */
  readonly source: string
  readonly start: number
  readonly end: number
}

/** A script taken apart. */
export interface ParsedScript {
  /** All simple commands, those of groups, loops and functions too, in their order. */
  readonly commands: readonly Command[]
  readonly functions: ReadonlyMap<string, readonly Command[]>
  /** Why what follows is not known: one sentence. */
  readonly cut?: string
}
