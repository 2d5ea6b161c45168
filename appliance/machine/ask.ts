import { connect } from 'node:net'
import { SOCKET, type Answered, type AskedWith, type Verb } from '../../server/machine/protocol.ts'
import { Refused } from './ports.ts'

/** Asks the program that changes the machine, as the daemon does. @throws Refused */
export type Ask = <V extends Verb>(verb: V, asked: AskedWith<V>, say?: (step: string) => void) => Promise<Answered<V>>

/** What a line of an answer may be. */
interface Line {
  readonly step?: string
  readonly answer?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}

const SILENT = 'The program that changes the machine does not answer: journalctl -u gatehouse-machine says why.'

export const askMachine: Ask = (verb, asked, say) =>
  new Promise((resolve, reject) => {
    const socket = connect(SOCKET)
    let rest = ''
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { step, answer, error } = JSON.parse(line) as Line
        if (step !== undefined) say?.(step)
        else if (error !== undefined) reject(new Refused(error.code, error.message))
        else resolve(answer as Answered<typeof verb>)
      }
    })
    socket.on('error', error => reject(new Refused('silent', `${SILENT} (${error.message})`)))
    socket.on('close', () => reject(new Refused('silent', SILENT)))
    socket.write(`${JSON.stringify({ ask: verb, with: asked })}\n`)
  })
