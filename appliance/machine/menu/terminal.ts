import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

/** Esc, Ctrl-C, or nothing typed where that goes back. */
export class Back extends Error {}
/** Nobody is there any more: the line was cut, or nothing was typed for minutes. */
export class Gone extends Error {}

/** A monitor or a serial line: lines of text, and answers to questions. */
export interface Terminal {
  say(text: string): void
  /** @returns what was typed, without spaces around it @throws Back, Gone */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>
  close(): void
}

const MOST_CHARACTERS = 1_000

/** @param idleMs  after so long without a line nobody is thought to be there */
export function createTerminal(input: NodeJS.ReadStream, output: NodeJS.WriteStream, idleMs = 5 * 60_000): Terminal {
  const isTty = input.isTTY === true
  let isMuted = false
  const shown = new Writable({
    write(chunk: Buffer, _, done) {
      if (!isMuted) output.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input, output: shown, terminal: isTty, historySize: 0 })
  const early: string[] = []
  let isClosed = false
  let waiting: { take(line: string): void; fail(error: Error): void } | undefined
  lines.on('line', line => {
    const text = line.slice(0, MOST_CHARACTERS).trim()
    if (waiting === undefined) early.push(text)
    // a terminal that sends lines as they are has Esc in them
    else if (text.includes('\u001b')) waiting.fail(new Back())
    else waiting.take(text)
  })
  lines.on('SIGINT', () => waiting?.fail(new Back()))
  lines.on('close', () => {
    isClosed = true
    waiting?.fail(new Gone())
  })
  if (isTty)
    input.on('keypress', (_, key?: { readonly name?: string }) => key?.name === 'escape' && waiting?.fail(new Back()))

  return {
    say: text => void output.write(`${text}\n`),
    async ask(question, { isSecret = false } = {}) {
      output.write(question)
      const known = early.shift()
      if (known !== undefined) return known
      if (isClosed) throw new Gone()
      isMuted = isSecret
      let idle: NodeJS.Timeout | undefined
      try {
        return await new Promise<string>((take, fail) => {
          waiting = { take, fail }
          idle = setTimeout(() => fail(new Gone()), idleMs)
        })
      } catch (error) {
        // what was typed of the line is no answer to the next question
        lines.write(null, { ctrl: true, name: 'u' })
        output.write('\n')
        throw error
      } finally {
        clearTimeout(idle)
        waiting = undefined
        if (isMuted) output.write('\n')
        isMuted = false
      }
    },
    close: () => lines.close(),
  }
}

/** One of several, by its number. @throws Back when nothing is typed */
export async function choose(terminal: Terminal, items: readonly string[], title?: string): Promise<number> {
  const width = String(items.length).length
  terminal.say(`${title === undefined ? '' : `\n${title}\n`}`)
  for (const [n, item] of items.entries()) terminal.say(`  ${String(n + 1).padStart(width)}  ${item}`)
  for (;;) {
    const typed = await terminal.ask('\nNumber, or Enter to go back: ')
    if (typed === '') throw new Back()
    if (/^\d{1,3}$/.test(typed) && items[Number(typed) - 1] !== undefined) return Number(typed) - 1
    terminal.say(`Type a number from 1 to ${items.length}.`)
  }
}

/** @throws Back unless `yes` is typed */
export async function confirm(terminal: Terminal, question: string): Promise<void> {
  const typed = await terminal.ask(`${question} Type yes: `)
  if (typed.toLowerCase() !== 'yes') {
    terminal.say('Nothing was done.')
    throw new Back()
  }
}
