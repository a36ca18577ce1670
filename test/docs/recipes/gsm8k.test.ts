import t from 'tap'
import { followPage } from '../../support/page.ts'

t.test('the page does what it says', (t) => followPage(t, 'docs/recipes/gsm8k.md'))
