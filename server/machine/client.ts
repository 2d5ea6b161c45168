import { Value } from '@sinclair/typebox/value'
import { stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { AppError } from '../core/errors.ts'
import { oneLine } from '../core/contract.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'
import { VERBS, type Answered, type AskedWith, type Verb } from './protocol.ts'

/** The program that looks after the machine, as the daemon asks it. */
export interface Machine {
  /** Whether there is one: otherwise this is no appliance. */
  isThere(): Promise<boolean>
  /**
   * Asks, and passes on what the machine says while it works.
   * @throws machine_absent, machine_silent, machine_refused, machine_not_understood
   */
  ask<V extends Verb>(verb: V, asked: AskedWith<V>, onStep?: (step: string) => void): Promise<Answered<V>>
}

export interface MachineOptions {
  readonly socket: string
  /** After so long without a word it has failed; ms. */
  readonly silenceMs?: { readonly read: number; readonly change: number }
}

/** A longer line is none of this protocol. */
const LONGEST_LINE = 4 * 1024 * 1024
/** The name server or the authority that a change waits for may be slow. */
const SILENCE = { read: 30_000, change: 300_000 }

const silent = (why: string, cause?: unknown): AppError => new AppError('machine_silent', { why }, cause)

/** Makes the asker over a socket; each call is a connection of its own. */
export function createMachine({ socket, silenceMs = SILENCE }: MachineOptions): Machine {
  const isThere = async (): Promise<boolean> => {
    try {
      await stat(socket)
      return true
    } catch (error) {
      // a socket that may not be looked at is there
      return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
    }
  }

  /** The answer of one line; undefined while it works on. */
  function heard<V extends Verb>(verb: V, line: string, onStep: (step: string) => void): Answered<V> | undefined {
    const notUnderstood = (where: string): AppError => new AppError('machine_not_understood', { verb, where })
    let said: unknown
    try {
      said = JSON.parse(line)
    } catch {
      throw notUnderstood('a line that is no JSON')
    }
    if (typeof said !== 'object' || said === null) throw notUnderstood('a line without a meaning')
    const { step, answer, error } = said as Record<string, unknown>
    if (typeof step === 'string') {
      onStep(oneLine(step))
      return undefined
    }
    if (typeof error === 'object' && error !== null) {
      const { message } = error as { readonly message?: unknown }
      throw new AppError('machine_refused', {
        why:
          typeof message === 'string' && message !== '' ? oneLine(message) : 'The machine refused it without a reason.',
      })
    }
    const schema = VERBS[verb].answer
    const [wrong] = Value.Errors(schema, answer)
    if (wrong !== undefined) throw notUnderstood(`${wrong.path || 'the answer'}: ${wrong.message}`)
    return Value.Clean(schema, answer) as Answered<V> // checked against this schema
  }

  return {
    isThere,
    ask: async (verb, asked, onStep = () => undefined) => {
      if (!(await isThere())) throw new AppError('machine_absent', {})
      return new Promise((resolve, reject) => {
        const connection = connect(socket)
        let rest = ''
        const end = (done: () => void): void => {
          done()
          connection.destroy()
        }
        const limit = verb === 'machine.read' ? silenceMs.read : silenceMs.change
        connection.setEncoding('utf8')
        connection.setTimeout(limit, () => end(() => reject(silent(`it was silent for ${limit / 1000} s`))))
        connection.on('error', error => end(() => reject(silent(systemErrorInWords(error) ?? 'it failed', error))))
        connection.on('close', () => reject(silent('it ended the connection')))
        connection.on('connect', () => connection.write(`${JSON.stringify({ ask: verb, with: asked })}\n`))
        connection.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n')
          rest = lines.pop() ?? ''
          try {
            if (rest.length > LONGEST_LINE)
              throw new AppError('machine_not_understood', { verb, where: 'a line without an end' })
            for (const line of lines) {
              const answer = heard(verb, line, onStep)
              if (answer !== undefined) return end(() => resolve(answer))
            }
          } catch (error) {
            end(() => reject(error as Error))
          }
        })
      })
    },
  }
}
