import { mutate } from './mutate.ts'
import { createRandom } from './random.ts'

const REGION = 1024
// programs made by programs.ts are empty between these places
const PLACES = [0, 0x4000, 0x8000, -REGION]

/** The same bytes damaged in many ways: each time where a header or a part begins, or at the end, or cut off. */
export function* mutated(bytes: Buffer, count: number, seed = 7): Generator<Buffer> {
  const random = createRandom(seed)
  for (let n = 0; n < count; n++) {
    const place = random.pick(PLACES)
    const from = place < 0 ? Math.max(0, bytes.length + place) : Math.min(place, bytes.length - 1)
    const region = mutate(bytes.subarray(from, from + REGION), random)
    const whole = Buffer.concat([bytes.subarray(0, from), region, bytes.subarray(from + REGION)])
    yield random.below(10) === 0 ? whole.subarray(0, random.below(whole.length)) : whole
  }
}
