"""Invented mail for pictures of the labelling page."""

import csv
import random

NAMES = ("Ana", "Ben", "Chloe", "David", "Eva", "Farid", "Grace", "Hugo", "Ines", "Jonas")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
THINGS = ("report", "slides", "budget", "survey", "contract", "poster", "draft", "schedule")
GOODS = ("watches", "pills", "printer ink", "sunglasses", "phones", "vouchers", "handbags")

HAM = (
    (
        "{Thing} for {day}",
        "Hi {name},\n\nI have put the {thing} in the shared folder. Could you read the second part "
        "before {day}? The figures on page {n} still need your numbers.\n\nThanks, {other}",
    ),
    (
        "Lunch on {day}?",
        "Are you free for lunch on {day}? The new place near the station has soup again. {other} "
        "and I will be there around half past twelve.\n\n{other}",
    ),
    (
        "Re: room for the meeting",
        "Room {n} is taken on {day}, so I have booked the small one on the second floor. Please "
        "bring the {thing}; {name} will take the notes.\n\nBest wishes, {other}",
    ),
    (
        "Question about the {thing}",
        "Dear {name},\n\nin the {thing} you sent on {day} there are {n} rows without a date. Shall "
        "I leave them out, or do you still have the forms?\n\nRegards, {other}",
    ),
    (
        "Away until {day}",
        "I am travelling and will answer on {day}. If it is about the {thing}, please ask {name}, "
        "who has the keys and the password of the printer.\n\n{other}",
    ),
)
SPAM = (
    (
        "{name}, your prize is waiting",
        "Congratulations {name}!!! You were chosen to receive {n}00 dollars in {goods}. Click the "
        "link within 24 hours to claim your free prize. No payment needed, offer ends {day}!",
    ),
    (
        "Cheap {goods}, today only",
        "Best price on {goods}: up to {n}% off! Free shipping, no questions asked. Order now and "
        "get a second one free. Unsubscribe by clicking the link below.",
    ),
    (
        "Problem with your account",
        "Dear customer,\n\nwe noticed a problem with your account. Confirm your password and card "
        "number by clicking the link before {day}, or your account will be closed.",
    ),
    (
        "Work from home, {n}00 dollars per day",
        "Earn money from home without experience! {name} made {n}00 dollars in her first week. "
        "Click now, places are limited, this free offer ends on {day}.",
    ),
)
# some like to get these, others do not
EITHER = (
    (
        "News of the month",
        "Dear {name},\n\nin this letter: a new {thing} to download, an offer of {goods} for "
        "members with {n}% off, and a talk on {day}. You can unsubscribe with the link below.",
    ),
    (
        "Your order of {goods}",
        "Hello {name},\n\nyour order {n} is on its way and arrives on {day}. Click the link to see "
        "the {thing}, or answer this message if you did not order {goods}.",
    ),
    (
        "Short survey, {n} questions",
        "Would you have ten minutes for a survey before {day}? Everybody who answers takes part in "
        "a draw of {goods}. The link to the {thing} is below.\n\n{other}",
    ),
)


def mail(number=600, seed=0):
    """Invent messages: subject, body, number of links, and kind."""
    draw = random.Random(seed)
    rows = []
    for _ in range(number):
        kind = "spam" if draw.random() < 0.4 else "ham"
        clear = SPAM if kind == "spam" else HAM
        subject, body = draw.choice(clear if draw.random() < 0.75 else EITHER)
        name, other = draw.sample(NAMES, 2)
        thing = draw.choice(THINGS)
        words = {
            "name": name,
            "other": other,
            "day": draw.choice(DAYS),
            "thing": thing,
            "Thing": thing.capitalize(),
            "goods": draw.choice(GOODS),
            "n": draw.randint(2, 40),
        }
        links = draw.randint(0, 2) + (draw.randint(0, 3) if kind == "spam" else 0)
        rows.append((subject.format(**words), body.format(**words), links, kind))
    return rows


def write_mail(path, **options):
    """Write invented messages without their kinds, and return the kinds."""
    rows = mail(**options)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["subject", "body", "links"])
        table.writerows(row[:3] for row in rows)
    return [row[3] for row in rows]
