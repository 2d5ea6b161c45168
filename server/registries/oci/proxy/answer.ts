import { atMost } from '../../../formats/upstream-files.ts'
import type { Answer } from '../../../outbound/exchange/exchange.ts'
import { NetFault, refuseAll } from '../../../outbound/exchange/fault.ts'

/**
 * The whole body of an answer. @param what  names it in messages
 * @throws upstream_refused where it is longer than `maxBytes`; outbound_failed where it does not come whole
 */
export async function readAnswer(answer: Answer, what: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of atMost(answer.body, what, maxBytes)) chunks.push(chunk)
  } catch (error) {
    answer.discard()
    if (error instanceof NetFault) return refuseAll([error])
    throw error
  }
  return Buffer.concat(chunks)
}
