"""What the demo embeds: everyday sentences, in groups that mean alike in different words."""

GROUPS = [
    [
        "A man is playing a guitar on the street.",
        "Someone makes music with a string instrument outdoors.",
        "A street musician strums his guitar for the crowd.",
        "The busker's melody filled the square.",
    ],
    [
        "The stock market fell sharply after the announcement.",
        "Share prices dropped when the news came out.",
        "Investors sold heavily following the report.",
        "Equities lost value as traders reacted to the statement.",
    ],
    [
        "She baked a chocolate cake for his birthday.",
        "For the party she made a cocoa dessert in the oven.",
        "A homemade cake with dark chocolate stood on the table.",
        "He got a freshly baked birthday treat from her.",
    ],
    [
        "The spacecraft entered orbit around Mars.",
        "A probe has reached the red planet and now circles it.",
        "After seven months of flight the orbiter arrived at Mars.",
        "The mission's satellite began to go around the fourth planet.",
    ],
    [
        "My flight was delayed by three hours because of fog.",
        "Bad visibility kept the plane on the ground all morning.",
        "We waited at the airport since the aircraft could not take off.",
        "Departure was postponed owing to the weather.",
    ],
    [
        "The doctor told him to drink more water and rest.",
        "Her physician recommended sleep and plenty of fluids.",
        "Medical advice was simple: stay in bed and stay hydrated.",
        "He was prescribed rest and a lot to drink.",
    ],
    [
        "Two dogs chase a ball across the park.",
        "Puppies run after a toy on the lawn.",
        "The animals were playing fetch in the grass.",
        "A pair of hounds raced for the tennis ball.",
    ],
    [
        "The new processor uses half the power of the old one.",
        "Energy consumption of the latest chip was cut by fifty percent.",
        "This generation of silicon is twice as efficient.",
        "Engineers doubled the performance per watt of the device.",
    ],
]

SENTENCES = [sentence for group in GROUPS for sentence in group]
